import type { JobSpec } from '#jobs';
import type { ClusterNode } from '../cluster/state.js';
import { check, must, NEVER } from './check.js';
import type { Check } from './check.js';

/** The label by which an owner says that a node cannot reach the internet. */
const INTERNET_LABEL = 'internet';
/** The label of nodes whose agent takes inputs by plain http; the agent sets it. */
const HTTP_LABEL = 'http-inputs';

/**
 * Whether the inputs can be fetched. Content of the artifact store (`sha256:…`) and of other jobs (`job:ID/path`) comes
 * through the control plane, which every node reaches. An `https://…` address is taken to be reachable unless the node is
 * labelled `internet = false`, an `http://…` address only if it is also labelled `http-inputs = true`. Any other source is
 * reachable nowhere.
 */
export const dataChecks = ({ inputs }: JobSpec): Check[] => {
  const checks: Check[] = [];
  const foreign = inputs.find(({ source }) => !/^(?:sha256:|job:|https?:\/\/)/.test(source));
  if (foreign) checks.push(check('data.unreachable', foreign.source, () => NEVER));
  const remote = inputs.find(({ source }) => /^https?:\/\//.test(source));
  if (remote) checks.push(check('data.unreachable', remote.source, (node) => must(!isIsolated(node))));
  const plain = inputs.find(({ source }) => source.startsWith('http://'));
  if (plain) checks.push(check('data.unreachable', plain.source, (node) => must(takesHttp(node))));
  return checks;
};

const isIsolated = ({ facts: { attributes } }: ClusterNode): boolean => {
  const internet = attributes.get(INTERNET_LABEL);
  return internet === 'false' || internet === 'no';
};

const takesHttp = ({ facts: { attributes } }: ClusterNode): boolean => attributes.get(HTTP_LABEL) === 'true';
