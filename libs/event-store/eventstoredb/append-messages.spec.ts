import shared from '@eventstore/db-client/generated/shared_pb.js';
import streams from '@eventstore/db-client/generated/streams_pb.js';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import google from 'google-protobuf/google/protobuf/empty_pb.js';
import { readAppendAnswer } from './append-answers.js';
import { appendMessages } from './append-messages.js';
import type { EncodedEvent } from '../limits.js';
import type { AppendRequest } from './append-messages.js';

const { BatchAppendReq, BatchAppendResp } = streams;

/** Beyond what a double can hold exactly. */
const BIG = 9007199254740993n;
const LARGEST = 2n ** 63n - 1n;

/** What the server's own code reads in a message. */
const read = (bytes: Buffer) => {
  const message = BatchAppendReq.deserializeBinary(bytes);
  const options = message.getOptions();
  const events = message.getProposedMessagesList().map((event): EncodedEvent & { contentType: string | undefined } => ({
    id: event.getId()?.getString() ?? '',
    type: event.getMetadataMap().get('type') ?? '',
    contentType: event.getMetadataMap().get('content-type'),
    data: Buffer.from(event.getData_asU8()).toString(),
    metadata: Buffer.from(event.getCustomMetadata_asU8()).toString(),
  }));
  return {
    correlationId: message.getCorrelationId()?.getString(),
    stream: Buffer.from(options?.getStreamIdentifier()?.getStreamName_asU8() ?? '').toString(),
    expected: options?.hasNoStream() ? 'none' : options?.hasStreamPosition() && BigInt(options.getStreamPosition()),
    events,
    final: message.getIsFinal(),
  };
};

/** Whole characters, as JSON has them. */
const text = fc.string({ unit: 'grapheme' });
const revision = fc.oneof(fc.constant('none' as const), fc.bigInt({ min: 0n, max: LARGEST }));
const encoded = fc.record({ id: fc.uuid(), type: text, data: text, metadata: text });

describe('messages of an append', () => {
  it('are read by the generated code as what was meant', () => {
    const request = fc.record({ stream: text, expected: revision, events: fc.array(encoded, { minLength: 1 }) });
    fc.assert(
      fc.property(request, fc.uuid(), (meant: AppendRequest, correlationId) => {
        const [message, ...others] = appendMessages(meant, correlationId);
        expect(others).toEqual([]);
        const events = meant.events.map((event) => ({ ...event, contentType: 'application/json' }));
        expect(read(message!)).toEqual({ ...meant, events, correlationId, final: true });
      }),
    );
  });

  it('carry big revisions exactly', () => {
    const event = { id: 'e', type: 'T', data: '{}', metadata: '{}' };
    for (const expected of [BIG, 127n, 128n, LARGEST]) {
      expect(read(appendMessages({ stream: 's', events: [event], expected }, 'c')[0]!).expected).toBe(expected);
    }
  });

  it('split an append of very many events, the last one marked', () => {
    const events = Array.from({ length: 4500 }, (_, n) => ({ id: `${n}`, type: 'T', data: '{}', metadata: '{}' }));
    const messages = appendMessages({ stream: 's', events, expected: 'none' }, 'c').map(read);
    expect(messages.map((message) => message.events.length)).toEqual([2000, 2000, 500]);
    expect(messages.map(({ final }) => final)).toEqual([false, false, true]);
    expect(messages.map(({ expected }) => expected)).toEqual(['none', undefined, undefined]);
    expect(messages.map(({ correlationId }) => correlationId)).toEqual(['c', 'c', 'c']);
  });
});

describe('answers to an append', () => {
  const answer = (change: (message: InstanceType<typeof BatchAppendResp>) => void): Buffer => {
    const message = new BatchAppendResp();
    const id = new shared.UUID();
    id.setString('c-1');
    message.setCorrelationId(id);
    change(message);
    return Buffer.from(message.serializeBinary());
  };

  const success = (change: (success: InstanceType<typeof BatchAppendResp.Success>) => void): Buffer =>
    answer((message) => {
      const stored = new BatchAppendResp.Success();
      change(stored);
      message.setSuccess(stored);
    });

  it('tell revision and position exactly', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: LARGEST }), fc.bigInt({ min: 0n, max: LARGEST }), (at, position) => {
        const bytes = success((stored) => {
          stored.setCurrentRevision(String(at));
          const place = new shared.AllStreamPosition();
          place.setCommitPosition(String(position));
          place.setPreparePosition('7');
          stored.setPosition(place);
        });
        const outcome = { kind: 'stored', revision: at, position };
        expect(readAppendAnswer(bytes)).toEqual({ correlationId: 'c-1', outcome });
      }),
    );
  });

  it('tell when a server says no position', () => {
    const bytes = success((stored) => stored.setNoPosition(new google.Empty()));
    expect(readAppendAnswer(bytes).outcome).toEqual({ kind: 'stored', revision: 0n, position: undefined });
  });

  it('leave open what they say nothing of', () => {
    expect(readAppendAnswer(answer(() => undefined))).toMatchObject({
      correlationId: 'c-1',
      outcome: { kind: 'unknown' },
    });
  });
});
