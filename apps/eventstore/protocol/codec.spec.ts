import { describe, expect, it } from '@jest/globals';
import shared from '@eventstore/db-client/generated/shared_pb.js';
import streams from '@eventstore/db-client/generated/streams_pb.js';
import * as fc from 'fast-check';
import empty from 'google-protobuf/google/protobuf/empty_pb.js';
import timestamps from 'google-protobuf/google/protobuf/timestamp_pb.js';
import { STORED_TOMBSTONE } from '../log/record.js';
import type { RecordedEvent } from '../log/record.js';
import { checkProposal, decodeAppend, decodeBatchAppend, decodeDelete } from './requests.js';
import { encodeBatchSuccess, encodeReadEvent } from './responses.js';

/* The hand-made codecs against the client's generated classes: what one writes, the other must read. */

const bytes = fc.uint8Array({ maxLength: 300 });
const revision = fc.nat({ max: Number.MAX_SAFE_INTEGER });
const recorded: fc.Arbitrary<RecordedEvent> = fc.record({
  position: revision,
  stream: fc.string({ unit: 'binary', minLength: 1 }).filter((text) => text.isWellFormed()),
  revision,
  created: fc.nat({ max: 4_000_000_000_000 }),
  json: fc.boolean(),
  id: fc.uuid(),
  type: fc.string({ unit: 'binary', minLength: 1, maxLength: 200 }).filter((text) => text.isWellFormed()),
  data: bytes,
  metadata: bytes,
});

const readBack = (message: InstanceType<typeof streams.ReadResp.ReadEvent.RecordedEvent> | undefined) => ({
  id: message?.getId()?.getString(),
  stream: Buffer.from(message?.getStreamIdentifier()?.getStreamName_asU8() ?? []).toString(),
  revision: message?.getStreamRevision(),
  commit: message?.getCommitPosition(),
  prepare: message?.getPreparePosition(),
  headers: Object.fromEntries(message?.getMetadataMap().toObject() ?? []),
  data: Buffer.from(message?.getData_asU8() ?? []),
  metadata: Buffer.from(message?.getCustomMetadata_asU8() ?? []),
});

const expectedOf = (event: RecordedEvent) => ({
  id: event.id,
  stream: event.stream,
  revision: String(event.revision),
  commit: String(event.position),
  prepare: String(event.position),
  headers: {
    type: event.type,
    'content-type': event.json ? 'application/json' : 'application/octet-stream',
    created: `${event.created}0000`,
  },
  data: Buffer.from(event.data),
  metadata: Buffer.from(event.metadata),
});

describe('an event that is read', () => {
  it('comes out of the generated classes as it went in', () => {
    fc.assert(
      fc.property(recorded, fc.option(recorded, { nil: undefined }), (event, link) => {
        const response = streams.ReadResp.deserializeBinary(encodeReadEvent(event, link, 'string')).getEvent();
        expect(readBack(response?.getEvent())).toEqual(expectedOf(event));
        expect(response?.hasLink()).toBe(link !== undefined);
        if (link) expect(readBack(response?.getLink())).toEqual(expectedOf(link));
        expect(response?.getCommitPosition()).toBe(String((link ?? event).position));
      }),
    );
  });

  it('may be a link whose event is gone', () => {
    fc.assert(
      fc.property(recorded, (link) => {
        const response = streams.ReadResp.deserializeBinary(encodeReadEvent(undefined, link, 'string')).getEvent();
        expect(response?.hasEvent()).toBe(false);
        expect(readBack(response?.getLink())).toEqual(expectedOf(link));
      }),
    );
  });

  it('has the largest revision when it is a tombstone', () => {
    const [event] = fc.sample(recorded, 1) as [RecordedEvent];
    const encoded = encodeReadEvent({ ...event, revision: STORED_TOMBSTONE }, undefined, 'string');
    const response = streams.ReadResp.deserializeBinary(encoded).getEvent();
    expect(response?.getEvent()?.getStreamRevision()).toBe('9223372036854775807');
  });

  it('carries its id in two halves when asked to', () => {
    fc.assert(
      fc.property(recorded, (event) => {
        const response = streams.ReadResp.deserializeBinary(encodeReadEvent(event, undefined, 'structured'));
        const id = response.getEvent()?.getEvent()?.getId()?.getStructured();
        const halves = [id?.getMostSignificantBits(), id?.getLeastSignificantBits()].map((half) =>
          BigInt.asUintN(64, BigInt(half ?? 0))
            .toString(16)
            .padStart(16, '0'),
        );
        expect(halves.join('')).toBe(event.id.replaceAll('-', ''));
      }),
    );
  });
});

describe('the answer to a batch', () => {
  it('is read by the generated classes', () => {
    fc.assert(
      fc.property(
        fc.uuid(),
        fc.string(),
        fc.oneof(fc.constant(-1), revision),
        revision,
        (id, stream, last, position) => {
          const name = stream.toWellFormed();
          const response = streams.BatchAppendResp.deserializeBinary(encodeBatchSuccess(id, name, last, position));
          expect(response.getCorrelationId()?.getString()).toBe(id);
          expect(Buffer.from(response.getStreamIdentifier()?.getStreamName_asU8() ?? []).toString()).toBe(name);
          const success = response.getSuccess();
          expect(success?.hasNoStream()).toBe(last < 0);
          expect(success?.getCurrentRevision()).toBe(last < 0 ? '0' : String(last));
          expect(success?.getPosition()?.toObject()).toEqual({
            commitPosition: String(position),
            preparePosition: String(position),
          });
        },
      ),
    );
  });
});

const uuid = (text: string) => new shared.UUID().setString(text);
const named = (stream: string) => new shared.StreamIdentifier().setStreamName(Buffer.from(stream));

const proposal = (event: RecordedEvent) => {
  const message = new streams.BatchAppendReq.ProposedMessage().setId(uuid(event.id));
  message
    .getMetadataMap()
    .set('type', event.type)
    .set('content-type', event.json ? 'application/json' : 'else');
  return message.setData(event.data).setCustomMetadata(event.metadata);
};

const asProposed = ({ id, type, json, data, metadata }: RecordedEvent) => ({
  id,
  type,
  json,
  data: Buffer.from(data),
  metadata: Buffer.from(metadata),
});

describe('an append', () => {
  it('is taken apart as the generated classes put it together', () => {
    fc.assert(
      fc.property(
        fc.uuid(),
        fc.array(recorded, { maxLength: 4 }),
        fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
        (id, list, at) => {
          const deadline = new timestamps.Timestamp();
          deadline.setSeconds(1_700_000_000);
          deadline.setNanos(250_000_000);
          const options = new streams.BatchAppendReq.Options()
            .setStreamIdentifier(named('a-stream'))
            .setStreamPosition(String(at))
            .setDeadline(deadline);
          const message = new streams.BatchAppendReq().setCorrelationId(uuid(id)).setIsFinal(true);
          message.setOptions(options);
          message.setProposedMessagesList(list.map(proposal));
          const decoded = decodeBatchAppend(Buffer.from(message.serializeBinary()));
          expect(decoded).toMatchObject({ correlationId: id, final: true });
          expect(decoded.options).toEqual({
            stream: 'a-stream',
            expected: { kind: 'exact', revision: at },
            deadline: 1_700_000_000_250,
          });
          const events = decoded.proposals.map(checkProposal);
          expect(
            events.map((event) => ({ ...event, data: Buffer.from(event.data), metadata: Buffer.from(event.metadata) })),
          ).toEqual(list.map(asProposed));
        },
      ),
    );
  });

  it.each([
    ['any', (o: InstanceType<typeof streams.BatchAppendReq.Options>) => o.setAny(new empty.Empty())],
    ['no-stream', (o: InstanceType<typeof streams.BatchAppendReq.Options>) => o.setNoStream(new empty.Empty())],
    ['stream-exists', (o: InstanceType<typeof streams.BatchAppendReq.Options>) => o.setStreamExists(new empty.Empty())],
  ])('expects %s', (kind, set) => {
    const options = set(new streams.BatchAppendReq.Options().setStreamIdentifier(named('s')));
    const message = new streams.BatchAppendReq().setCorrelationId(uuid('x'));
    message.setOptions(options);
    expect(decodeBatchAppend(Buffer.from(message.serializeBinary())).options?.expected).toEqual({ kind });
  });

  it('comes in single messages too', () => {
    const options = new streams.AppendReq.Options().setStreamIdentifier(named('ünï')).setRevision('7');
    const first = decodeAppend(Buffer.from(new streams.AppendReq().setOptions(options).serializeBinary()));
    expect(first).toEqual({ options: { stream: 'ünï', expected: { kind: 'exact', revision: 7n } } });
    const [event] = fc.sample(recorded, 1) as [RecordedEvent];
    const message = new streams.AppendReq.ProposedMessage().setId(uuid(event.id.toUpperCase())).setData(event.data);
    message.getMetadataMap().set('type', event.type);
    const second = decodeAppend(Buffer.from(new streams.AppendReq().setProposedMessage(message).serializeBinary()));
    expect(second).toMatchObject({ proposal: { id: event.id, type: event.type, contentType: undefined } });
    expect(() => 'proposal' in second && checkProposal(second.proposal)).toThrow(/content-type/);
  });

  it('reads ids in two halves', () => {
    const halves = new shared.UUID.Structured().setMostSignificantBits('-1').setLeastSignificantBits('1');
    const message = new streams.BatchAppendReq().setCorrelationId(new shared.UUID().setStructured(halves));
    expect(decodeBatchAppend(Buffer.from(message.serializeBinary())).correlationId).toBe(
      'ffffffff-ffff-ffff-0000-000000000001',
    );
  });

  it('shares its options with deletions', () => {
    const options = new streams.DeleteReq.Options().setStreamIdentifier(named('s')).setNoStream(new shared.Empty());
    expect(decodeDelete(Buffer.from(new streams.DeleteReq().setOptions(options).serializeBinary()))).toEqual({
      stream: 's',
      expected: { kind: 'no-stream' },
    });
  });

  it('that is cut off or scrambled is refused, never misread past its end', () => {
    const message = new streams.BatchAppendReq().setCorrelationId(uuid('0'.repeat(36))).setIsFinal(true);
    message.setProposedMessagesList(fc.sample(recorded, 2).map(proposal));
    const whole = Buffer.from(message.serializeBinary());
    for (let cut = 1; cut < whole.length; cut += 7) {
      const attempt = () => decodeBatchAppend(whole.subarray(0, cut));
      try {
        expect(attempt().proposals.length).toBeLessThanOrEqual(2);
      } catch (error) {
        expect(error).toBeInstanceOf(Error);
      }
    }
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 60 }), (noise) => {
        try {
          decodeBatchAppend(Buffer.from(noise));
        } catch (error) {
          expect((error as Error).message).toMatch(/field|wire type|10 bytes/);
        }
      }),
    );
  });
});
