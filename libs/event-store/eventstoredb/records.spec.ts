import shared from '@eventstore/db-client/generated/shared_pb.js';
import streams from '@eventstore/db-client/generated/streams_pb.js';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { AnswerDecoder } from './records.js';
import { streamRequest, subscribeRequest } from './requests.js';
import type { RecordedEvent } from '../port.js';

/** Beyond what a double can hold exactly. */
const BIG = 9007199254740993n;

interface Facts {
  readonly id?: string;
  readonly revision?: bigint;
  readonly position?: bigint;
  readonly data?: string;
  readonly metadata?: string;
}

/** As the server's own code would write it. */
const answer = (facts: Facts): Buffer => {
  const record = new streams.ReadResp.ReadEvent.RecordedEvent();
  const id = new shared.UUID();
  id.setString(facts.id ?? '018f0000-0000-7000-8000-000000000001');
  const name = new shared.StreamIdentifier();
  name.setStreamName(Buffer.from('job-ü'));
  record.setId(id);
  record.setStreamIdentifier(name);
  record.setStreamRevision(String(facts.revision ?? 0n));
  record.setCommitPosition(String(facts.position ?? 0n));
  record.getMetadataMap().set('type', 'Said').set('created', '17964180000001234');
  record.setData(Buffer.from(facts.data ?? '{}'));
  record.setCustomMetadata(Buffer.from(facts.metadata ?? ''));
  const event = new streams.ReadResp.ReadEvent();
  event.setEvent(record);
  const message = new streams.ReadResp();
  message.setEvent(event);
  return Buffer.from(message.serializeBinary());
};

const recordedEvent = (bytes: Buffer): RecordedEvent | undefined => new AnswerDecoder().decode(bytes).event;

describe('recordedEvent', () => {
  it('keeps a revision of 9007199254740993 and a position beside it exactly', () => {
    const event = recordedEvent(answer({ revision: BIG, position: BIG + 2n }));
    expect(event).toMatchObject({ stream: 'job-ü', revision: BIG, position: BIG + 2n });
    expect(String(event?.revision)).toBe('9007199254740993');
  });

  it('reads the time in ticks of 100 ns', () => {
    expect(recordedEvent(answer({}))?.recordedAt).toBe(1_796_418_000_000);
  });

  it('bears what others wrote: no JSON, no metadata', () => {
    const event = recordedEvent(answer({ data: '\u0000binary', metadata: '' }));
    expect(event).toMatchObject({ data: {}, metadata: { schemaVersion: 1, actor: 'system:unknown' } });
  });

  it('refuses a server that tells no positions', () => {
    expect(() => recordedEvent(answer({ position: 2n ** 64n - 1n }))).toThrow('22.10');
  });

  it('is undefined for answers that are no events', () => {
    expect(recordedEvent(Buffer.alloc(0))).toBeUndefined();
  });
});

describe('AnswerDecoder', () => {
  const bytesOf = (fill: (message: InstanceType<typeof streams.ReadResp>) => void): Buffer => {
    const message = new streams.ReadResp();
    fill(message);
    return Buffer.from(message.serializeBinary());
  };

  it('reads every kind of answer that the generated code writes', () => {
    const decoder = new AnswerDecoder();
    const checkpoint = new streams.ReadResp.Checkpoint();
    checkpoint.setCommitPosition(String(BIG));
    checkpoint.setPreparePosition(String(BIG));
    expect(decoder.decode(bytesOf((message) => message.setCheckpoint(checkpoint)))).toEqual({ checkpoint: BIG });
    expect(decoder.decode(bytesOf((message) => message.setCaughtUp(new streams.ReadResp.CaughtUp())))).toEqual({
      caughtUp: true,
    });
    const others = [
      bytesOf((message) => message.setFellBehind(new streams.ReadResp.FellBehind())),
      bytesOf((message) => message.setStreamNotFound(new streams.ReadResp.StreamNotFound())),
      bytesOf((message) => message.setFirstStreamPosition(String(BIG))),
    ];
    expect(others.map((bytes) => decoder.decode(bytes))).toEqual([{}, {}, {}]);
  });

  it('reads every revision from 0 to 2⁶⁴−1 exactly', () => {
    fc.assert(
      fc.property(fc.bigInt(0n, 2n ** 64n - 1n), fc.bigInt(0n, 2n ** 64n - 2n), (revision, position) => {
        expect(recordedEvent(answer({ revision, position }))).toMatchObject({ revision, position });
      }),
    );
  });

  it('reads an event once and shares it, and knows another one at the same position', () => {
    const decoder = new AnswerDecoder();
    const first = decoder.decode(answer({ position: 7n, data: '{"n":1}' })).event;
    expect(decoder.decode(answer({ position: 7n, data: '{"n":1}' })).event).toBe(first);
    const id = '018f0000-0000-7000-8000-000000000002';
    expect(decoder.decode(answer({ id, position: 7n, data: '{"n":2}' })).event).toMatchObject({ id, data: { n: 2 } });
  });

  it('refuses bytes that end within a field', () => {
    const bytes = answer({ data: '{"long":"enough"}' });
    for (const length of [1, 2, bytes.length - 1]) {
      expect(() => new AnswerDecoder().decode(bytes.subarray(0, length))).toThrow(RangeError);
    }
  });
});

describe('requests', () => {
  it('carry big revisions and positions exactly', () => {
    expect(streamRequest('s', { from: BIG }, 10, false).getOptions()?.getStream()?.getRevision()).toBe(String(BIG));
    const all = subscribeRequest(BIG, undefined).getOptions()?.getAll();
    expect(all?.getPosition()?.getCommitPosition()).toBe(String(BIG));
  });
});
