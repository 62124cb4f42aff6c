import { STORED_TOMBSTONE, TOMBSTONE_REVISION } from '../log/record.js';
import type { RecordedEvent } from '../log/record.js';
import { uuidToBytes } from '../log/uuid.js';
import { WireWriter, sizeOfField, sizeOfNumber } from './wire.js';

/** How a reader wants event ids: as text, or as two 64-bit halves. */
export type UuidForm = 'string' | 'structured';

const JSON_TYPE = 'application/json';
const BINARY_TYPE = 'application/octet-stream';

/** A `ReadResp` that holds an event and, if it was reached through one, its link. */
export const encodeReadEvent = (
  event: RecordedEvent | undefined,
  link: RecordedEvent | undefined,
  uuids: UuidForm,
): Buffer => {
  const body = event && encodeRecorded(event, uuids);
  const via = link && encodeRecorded(link, uuids);
  const position = (link ?? event)?.position ?? 0;
  const size = (body ? sizeOfField(body.length) : 0) + (via ? sizeOfField(via.length) : 0) + 1 + sizeOfNumber(position);
  const writer = new WireWriter(sizeOfField(size)).open(1, size);
  if (body) writer.blob(1, body);
  if (via) writer.blob(2, via);
  return writer.number(3, position).bytes;
};

const encodeRecorded = (event: RecordedEvent, uuids: UuidForm): Buffer => {
  const id = encodeUuid(event.id, uuids);
  const name = Buffer.byteLength(event.stream);
  const revision = event.revision === STORED_TOMBSTONE ? TOMBSTONE_REVISION : event.revision;
  const type = Buffer.byteLength(event.type);
  const contentType = event.json ? JSON_TYPE : BINARY_TYPE;
  // `created` counts ticks of 100 ns, which no double holds exactly: milliseconds and four zeros are the same number.
  const created = `${event.created}0000`;
  const writer = new WireWriter(
    sizeOfField(id.length) +
      sizeOfField(sizeOfField(name)) +
      3 +
      sizeOfNumber(revision) +
      2 * sizeOfNumber(event.position) +
      sizeOfEntry(4, type) +
      sizeOfEntry(12, contentType.length) +
      sizeOfEntry(7, created.length) +
      sizeOfField(event.metadata.length) +
      sizeOfField(event.data.length),
  );
  writer.blob(1, id).open(2, sizeOfField(name)).utf8(3, event.stream, name);
  writer.number(3, revision).number(4, event.position).number(5, event.position);
  entry(writer, 'type', type).utf8(2, event.type, type);
  entry(writer, 'content-type', contentType.length).ascii(2, contentType);
  entry(writer, 'created', created.length).ascii(2, created);
  return writer.blob(7, event.metadata).blob(8, event.data).bytes;
};

const sizeOfEntry = (key: number, value: number): number => sizeOfField(sizeOfField(key) + sizeOfField(value));

const entry = (writer: WireWriter, key: string, value: number): WireWriter =>
  writer.open(6, sizeOfField(key.length) + sizeOfField(value)).ascii(1, key);

/** A `UUID` message: text in field 2, or the two halves in field 1. */
const encodeUuid = (uuid: string, form: UuidForm): Buffer => {
  if (form === 'string') return new WireWriter(sizeOfField(uuid.length)).ascii(2, uuid).bytes;
  const bytes = uuidToBytes(uuid);
  const [high, low] = [bytes.readBigUInt64BE(0), bytes.readBigUInt64BE(8)];
  const size = 2 + sizeOfNumber(high) + sizeOfNumber(low);
  return new WireWriter(sizeOfField(size)).open(1, size).number(1, high).number(2, low).bytes;
};

/** A `BatchAppendResp` that reports success. */
export const encodeBatchSuccess = (
  correlationId: string,
  stream: string,
  revision: number,
  position: number,
): Buffer => {
  const place = 2 + 2 * sizeOfNumber(position);
  const success = (revision < 0 ? 2 : 1 + sizeOfNumber(revision)) + sizeOfField(place);
  const name = Buffer.byteLength(stream);
  const id = sizeOfField(correlationId.length);
  const writer = new WireWriter(sizeOfField(id) + sizeOfField(success) + sizeOfField(sizeOfField(name)));
  writer.open(1, id).ascii(2, correlationId).open(3, success);
  if (revision < 0) writer.open(2, 0);
  else writer.number(1, revision);
  writer.open(3, place).number(1, position).number(2, position);
  return writer.open(4, sizeOfField(name)).utf8(3, stream, name).bytes;
};
