import { ProtocolNode } from './protocol-node.js';
import type { TestSystem } from './test-system.js';

/* Tests that share a system keep out of each other's way by a label: only the nodes of one take its jobs. */

export const enrolLabelled = async (
  system: TestSystem,
  name: string,
  label: string,
  inventory: object = {},
): Promise<ProtocolNode> => {
  const enrolling = new ProtocolNode(name, system.as({ role: 'node', account: 'enrol' }));
  await enrolling.enrol({ labels: { test: label }, ...inventory });
  return new ProtocolNode(name, system.node(name));
};

/** The id of a job that only nodes of the label may take. */
export const submitLabelled = async (system: TestSystem, label: string, change: object = {}): Promise<string> => {
  const spec = {
    name: label,
    project: 'demo',
    resources: { cpu: 1, memory: '1GiB' },
    constraints: [`test = ${label}`],
    task: { command: ['true'] },
    ...change,
  };
  return (await system.researcher().post<{ id: string }>('/jobs', spec)).id;
};
