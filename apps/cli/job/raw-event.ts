import type { JobEvent } from '#contracts';

/** An event of a job as the API tells it: exactly what is stored, 64-bit numbers as text. */
export type RawEvent = JobEvent & {
  readonly id: string;
  readonly stream: string;
  readonly revision: string;
  readonly position: string;
  readonly recordedAt: string;
  readonly metadata: Readonly<Record<string, unknown>>;
};
