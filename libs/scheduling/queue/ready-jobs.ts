import { Heap } from '#kernel';
import { isBefore } from './turn.js';
import type { Turn } from './turn.js';

export interface Ready extends Turn {
  /** What asked for the look. */
  trigger: string;
}

/**
 * Jobs that are to be looked at. The next one is the most urgent; among equals that of the project which has the smallest
 * share (over its weight) by then; among these the one that was submitted first. Each project has a line of its own, so
 * shares may change from one look to the next without a line being put in order again.
 */
export class ReadyJobs {
  /** The turns of each project, and turns of some that have left. */
  private readonly lines = new Map<string, Heap<Ready>>();
  private readonly turns = new Map<string, Ready>();

  get size(): number {
    return this.turns.size;
  }

  get(jobId: string): Ready | undefined {
    return this.turns.get(jobId);
  }

  /** Takes the place of an earlier turn of the same job. */
  put(ready: Ready): void {
    const line = this.lines.get(ready.project) ?? new Heap<Ready>(isBefore);
    line.push(ready);
    this.lines.set(ready.project, line);
    this.turns.set(ready.jobId, ready);
  }

  remove(jobId: string): void {
    this.turns.delete(jobId);
  }

  /** `shareOf` is asked only about projects that are equal so far. */
  pop(shareOf: (project: string) => number): Ready | undefined {
    let best: { readonly head: Ready; share: number | undefined } | undefined;
    for (const [project, line] of this.lines) {
      const head = this.headOf(line);
      if (!head) this.lines.delete(project);
      else if (!best || head.priority > best.head.priority) best = { head, share: undefined };
      else if (head.priority === best.head.priority) {
        const share = shareOf(project);
        best.share ??= shareOf(best.head.project);
        if (share < best.share || (share === best.share && isBefore(head, best.head))) best = { head, share };
      }
    }
    if (!best) return undefined;
    this.lines.get(best.head.project)?.pop();
    this.turns.delete(best.head.jobId);
    return best.head;
  }

  /** Heaps do not delete from the middle: who left, or has another turn now, is passed over when it comes up. */
  private headOf(line: Heap<Ready>): Ready | undefined {
    for (let head = line.peek(); head; head = line.peek()) {
      if (this.turns.get(head.jobId) === head) return head;
      line.pop();
    }
    return undefined;
  }
}
