import type { Clock, Random } from '#kernel';
import { isOlder } from './aging.js';
import type { Aging } from './aging.js';
import type { Evaluation } from './evaluation.js';
import { PriorityLines } from './priority-lines.js';
import type { Ranked } from './priority-lines.js';

export interface ReadyParts {
  readonly clock: Clock;
  readonly random: Random;
  readonly aging: Aging;
  /** What a project has of all there is, over its weight. Asked only about projects that are equal so far. */
  readonly shareOf: (project: string) => number;
}

/** The head of a type. */
interface Head extends Ranked<Evaluation> {
  readonly type: string;
}

/**
 * Evaluations that can be delivered, by type and project. The next of a type is the most urgent; among equals that of
 * the project which has the smallest share by then; among these the oldest. Shares are asked for at each choice, so they may
 * move freely.
 */
export class ReadyEvaluations {
  private readonly types = new Map<string, ReadyOfType>();

  constructor(private readonly parts: ReadyParts) {}

  get size(): number {
    let size = 0;
    for (const ready of this.types.values()) size += ready.size;
    return size;
  }

  /** By type; types that were seen once stay, with 0. */
  get sizes(): ReadonlyMap<string, number> {
    return new Map([...this.types].map(([type, { size }]) => [type, size]));
  }

  add(type: string, evaluation: Evaluation): void {
    const ready = this.types.get(type) ?? new ReadyOfType(this.parts);
    this.types.set(type, ready);
    ready.add(evaluation);
  }

  delete(type: string, evaluation: Evaluation): void {
    this.types.get(type)?.delete(evaluation);
  }

  /** Takes out the next of these types: of the type whose next is the most urgent, any of those that are equal in that. */
  take(types: readonly string[]): Evaluation | undefined {
    const heads: Head[] = [];
    for (const type of types) {
      const head = this.types.get(type)?.head();
      if (!head || (heads[0] && head.effective < heads[0].effective)) continue;
      if (heads[0] && head.effective > heads[0].effective) heads.length = 0;
      heads.push({ ...head, type });
    }
    const chosen = heads.length > 1 ? heads[Math.floor(this.parts.random.next() * heads.length)] : heads[0];
    if (!chosen) return undefined;
    this.delete(chosen.type, chosen.item);
    return chosen.item;
  }

  clear(): void {
    this.types.clear();
  }
}

class ReadyOfType {
  size = 0;
  private readonly projects = new Map<string, PriorityLines<Evaluation>>();

  constructor(private readonly parts: ReadyParts) {}

  add(evaluation: Evaluation): void {
    const lines = this.projects.get(evaluation.project) ?? new PriorityLines<Evaluation>(this.parts.aging);
    this.projects.set(evaluation.project, lines);
    lines.add(evaluation);
    this.size += 1;
  }

  delete(evaluation: Evaluation): void {
    const lines = this.projects.get(evaluation.project);
    if (!lines) return;
    lines.delete(evaluation);
    if (lines.isEmpty) this.projects.delete(evaluation.project);
    this.size -= 1;
  }

  head(): Ranked<Evaluation> | undefined {
    if (this.size === 0) return undefined;
    const now = this.parts.clock.now();
    let best: (Ranked<Evaluation> & { share?: number }) | undefined;
    for (const [project, lines] of this.projects) {
      const head = lines.head(now);
      if (!head || (best && head.effective < best.effective)) continue;
      if (!best || head.effective > best.effective) best = { ...head };
      else {
        const share = this.parts.shareOf(project);
        best.share ??= this.parts.shareOf(best.item.project);
        if (share < best.share || (share === best.share && isOlder(head.item, best.item))) best = { ...head, share };
      }
    }
    return best;
  }
}
