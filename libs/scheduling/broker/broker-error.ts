const MESSAGES = {
  'broker-off': 'the broker is switched off',
  'not-in-flight': 'the evaluation is not in flight',
  'receipt-mismatch': 'the receipt is not that of the present delivery: mismatch',
  'lease-over': 'the lease ran out: timeout reached',
} as const;

export type BrokerErrorCode = keyof typeof MESSAGES;

/** What the broker refuses to do; `code` is stable. */
export class BrokerError extends Error {
  override readonly name = 'BrokerError';

  constructor(
    readonly code: BrokerErrorCode,
    evaluationId?: string,
  ) {
    super(evaluationId === undefined ? MESSAGES[code] : `${MESSAGES[code]} (${evaluationId})`);
  }
}
