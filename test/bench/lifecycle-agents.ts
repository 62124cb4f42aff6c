import { jobIdOfExecution } from '#jobs';
import { sharedNow } from './measures.js';
import { startSimulatedAgents } from './simulated-agents.js';

/* The process of its own in which the lifecycle benchmark has its agents: ordered over the IPC channel, on which it tells
 * when what happened. It ends with that channel. */

/** The first message. */
export interface SimulationOrder {
  readonly url: string;
  /** A token that may enrol. */
  readonly token: string;
  readonly count: number;
}

/** Told many at a time; `at` is `sharedNow`. */
export interface SimulationNews {
  readonly ready?: true;
  readonly assigned?: readonly Moment[];
  readonly ended?: readonly Moment[];
  readonly failure?: string;
}

export interface Moment {
  readonly jobId: string;
  readonly at: number;
}

/** Collects what happened in one turn of the event loop, so that telling it costs little. */
class News {
  private heard: Record<'assigned' | 'ended', Moment[]> = { assigned: [], ended: [] };

  note(kind: 'assigned' | 'ended', executionId: string): void {
    if (this.heard.assigned.length + this.heard.ended.length === 0) setImmediate(() => this.send());
    this.heard[kind].push({ jobId: jobIdOfExecution(executionId), at: sharedNow() });
  }

  private send(): void {
    tell(this.heard);
    this.heard = { assigned: [], ended: [] };
  }
}

const tell = (news: SimulationNews): void => void process.send?.(news);

const simulate = async ({ url, token, count }: SimulationOrder): Promise<void> => {
  const news = new News();
  const observer = {
    assigned: (executionId: string) => news.note('assigned', executionId),
    completed: (executionId: string) => news.note('ended', executionId),
  };
  await startSimulatedAgents({ url, token, count, observer });
  tell({ ready: true });
};

process.once('message', (order) => {
  simulate(order as SimulationOrder).catch((error: unknown) => tell({ failure: String(error) }));
});
process.once('disconnect', () => process.exit(0));
