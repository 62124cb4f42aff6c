import type { Artifact } from '#contracts';
import { Refused } from '../client/faults.js';
import type { Http } from '../client/http.js';

/** What the agent reads of `GET /jobs/{id}/results`. */
interface Results {
  readonly items: readonly { readonly state: string; readonly artifacts: readonly Artifact[] }[];
}

/**
 * The digest of the file that a job left under `path`, or undefined when job or file is not there. A try that succeeded
 * goes before one that failed and left something too.
 */
export const artifactOfJob = async (http: Http, jobId: string, path: string): Promise<string | undefined> => {
  try {
    const results = await http.json<Results>('GET', `/jobs/${encodeURIComponent(jobId)}/results`);
    const named = results.items.flatMap(({ state, artifacts }) =>
      artifacts.filter((artifact) => artifact.path === path).map(({ sha256 }) => ({ state, sha256 })),
    );
    return (named.find(({ state }) => state === 'succeeded') ?? named[0])?.sha256;
  } catch (error) {
    if (error instanceof Refused && error.status === 404) return undefined;
    throw error;
  }
};
