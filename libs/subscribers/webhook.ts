import { createHmac } from 'node:crypto';
import type { RecordedEvent } from '#event-store';
import type { Millis, Timers } from '#kernel';
import { noticeOf } from './notice.js';
import type { Deliver } from './ports.js';

export interface WebhookOptions {
  readonly url: string;
  /** Signs the body, when given. */
  readonly secret?: string | undefined;
  /** For the whole answer. */
  readonly timeout: Millis;
}

/**
 * Delivers by `POST`: any answer of 2xx means taken. A redirect is none. The body is signed as GitHub's webhooks are
 * (HMAC-SHA-256 of its bytes, in hexadecimal), and `escalon-delivery` is the event's id, the same however often it is sent.
 */
export const webhook =
  ({ url, secret, timeout }: WebhookOptions, timers: Timers): Deliver =>
  async (event, signal) => {
    const body = noticeOf(event);
    const late = new AbortController();
    const timer = timers.after(timeout, () => late.abort(new Error(`no answer within ${String(timeout / 1000)} s`)));
    try {
      const over = AbortSignal.any([signal, late.signal]);
      const headers = headersOf(event, body, secret);
      const answer = await fetch(url, { method: 'POST', redirect: 'manual', headers, body, signal: over });
      await answer.body?.cancel();
      if (!answer.ok) throw new Error(`the answer was ${String(answer.status)}`);
    } catch (error) {
      throw reasonOf(error);
    } finally {
      timer.cancel();
    }
  };

const headersOf = (event: RecordedEvent, body: string, secret: string | undefined): Record<string, string> => ({
  'content-type': 'application/json',
  'user-agent': 'escalon',
  'escalon-event': event.type,
  'escalon-delivery': event.id,
  ...(secret !== undefined && {
    'escalon-signature': `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`,
  }),
});

/** What fetch itself says is only that it failed. */
const reasonOf = (error: unknown): unknown => {
  const { name, cause } = error as { readonly name?: string; readonly cause?: unknown };
  return name === 'TypeError' && cause !== undefined ? cause : error;
};
