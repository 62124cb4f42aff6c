import { Injectable } from '@nestjs/common';
import type { ChangedDecision, DifferingDecision, VerificationSummary, WhatIfSummary } from '#contracts';
import { isOfDecision, verifyPoint, withOtherWeights } from '#scheduling';
import type { DecisionPoint, DecisionRange, DerivationPoint, Difference, OtherWeights } from '#scheduling';
import { DecisionAudit } from './decision-audit.js';
import type { AuditReader } from './decision-audit.js';

type Tally = WhatIfSummary['byProject'][string];

/** Told of what is found, one by one. */
export interface Finder<Found> extends AuditReader {
  found(found: Found): Promise<void>;
}

/** Differences listed of one decision; another winner changes nearly every value. */
const MOST_DIFFERENCES = 20;

/** What auditors ask of the recorded decisions: do they derive, and what would other weights have done. */
@Injectable()
export class Verification {
  constructor(private readonly audit: DecisionAudit) {}

  checkFree(): void {
    this.audit.checkFree();
  }

  async verify(range: DecisionRange, finder: Finder<DifferingDecision>): Promise<VerificationSummary> {
    const counts = { verified: 0, otherVersion: 0, differing: 0 };
    const versions = new Counts();
    await this.audit.run(
      range,
      (point) => {
        const verdict = verifyPoint(point);
        switch (verdict.kind) {
          case 'verified':
            counts.verified += 1;
            return undefined;
          case 'other-version':
            counts.otherVersion += 1;
            versions.add(verdict.version);
            return undefined;
          case 'differs':
            counts.differing += 1;
            return finder.found(differing(point, verdict.differences));
        }
      },
      finder,
    );
    return { ...counts, versions: versions.all() };
  }

  async whatIf(range: DecisionRange, other: OtherWeights, finder: Finder<ChangedDecision>): Promise<WhatIfSummary> {
    const [considered, changed] = [new Tallies(), new Tallies()];
    let passedOver = 0;
    await this.audit.run(
      range,
      (point) => {
        if (!isOfDecision(point)) return undefined;
        const outcome = withOtherWeights(point, other);
        if (outcome.kind === 'passed-over') passedOver += 1;
        else considered.add(point);
        if (outcome.kind !== 'changed') return undefined;
        changed.add(point);
        return finder.found(changedDecision(point, outcome.other.winner ?? '', outcome.other.margin));
      },
      finder,
    );
    return {
      considered: considered.total,
      changed: changed.total,
      passedOver,
      byProject: joined(considered.projects, changed.projects),
      byApplication: joined(considered.applications, changed.applications),
    };
  }
}

const placeOf = (point: DecisionPoint) => ({ ...whereOf(point), number: point.recorded.decision.number });

const whereOf = ({ recorded: { jobId, position } }: DerivationPoint) => ({ jobId, position: String(position) });

const differing = (point: DerivationPoint, differences: readonly Difference[]): DifferingDecision => ({
  ...whereOf(point),
  number: isOfDecision(point) ? point.recorded.decision.number : null,
  differences: differences.slice(0, MOST_DIFFERENCES),
  more: Math.max(0, differences.length - MOST_DIFFERENCES),
});

const changedDecision = (
  point: DecisionPoint,
  otherWinner: string,
  otherMargin: number | undefined,
): ChangedDecision => {
  const { time, profile, winner = '', margin } = point.recorded.decision;
  const { project = '', spec } = point.request ?? {};
  return {
    ...placeOf(point),
    time,
    project,
    application: spec?.application?.name ?? null,
    profile,
    winner,
    margin: margin ?? null,
    otherWinner,
    otherMargin: otherMargin ?? null,
  };
};

class Counts {
  private readonly counts = new Map<string, number>();

  add(key: string): void {
    this.counts.set(key, (this.counts.get(key) ?? 0) + 1);
  }

  of(key: string): number {
    return this.counts.get(key) ?? 0;
  }

  all(): Record<string, number> {
    return Object.fromEntries([...this.counts].sort(([left], [right]) => (left < right ? -1 : 1)));
  }
}

/** A job without an application is counted under this name. */
const NO_APPLICATION = '(none)';

class Tallies {
  total = 0;
  readonly projects = new Counts();
  readonly applications = new Counts();

  add({ request }: DecisionPoint): void {
    this.total += 1;
    this.projects.add(request?.project ?? '');
    this.applications.add(request?.spec.application?.name ?? NO_APPLICATION);
  }
}

const joined = (considered: Counts, changed: Counts): Record<string, Tally> =>
  Object.fromEntries(
    Object.entries(considered.all()).map(([key, count]) => [key, { considered: count, changed: changed.of(key) }]),
  );
