import type { Artifact } from '#contracts';
import { Refused } from '../client/faults.js';
import type { Http } from '../client/http.js';

interface Results {
  readonly artifacts?: readonly Artifact[];
  readonly items?: readonly (Artifact | { readonly artifacts?: readonly Artifact[] })[];
}

/** The digest of the file that a job left under `path`, or undefined when job or file is not there. */
export const artifactOfJob = async (http: Http, jobId: string, path: string): Promise<string | undefined> => {
  try {
    const results = await http.json<Results>('GET', `/jobs/${encodeURIComponent(jobId)}/results`);
    const items = [...(results.artifacts ?? []), ...(results.items ?? [])];
    const artifacts = items.flatMap((item) => ('sha256' in item ? [item] : (item.artifacts ?? [])));
    return artifacts.find((artifact) => artifact.path === path)?.sha256;
  } catch (error) {
    if (error instanceof Refused && error.status === 404) return undefined;
    throw error;
  }
};
