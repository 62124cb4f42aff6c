import type { ApiClient } from './api-client.js';

/** Drains a node for new disks, with the earliest deadline that still lies ahead when it arrives, however slow the machine. */
export const drainSoon = async (operator: ApiClient, nodeId: string): Promise<void> => {
  for (let within = 500; ; within *= 2) {
    const deadline = new Date(Date.now() + within).toISOString();
    const answer = await operator.request('POST', `/nodes/${nodeId}/drain`, { reason: 'new disks', deadline });
    if (answer.status === 200) return;
    const late = answer.status === 422 && answer.body.errors[0]?.pointer === '/deadline';
    if (!late) throw new Error(`drain of ${nodeId}: ${String(answer.status)} ${JSON.stringify(answer.body)}`);
  }
};
