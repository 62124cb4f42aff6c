/** One field of a protobuf message: a number, or bytes within the message (`from` to `to`, exclusive). */
export interface Field {
  number: number;
  value: bigint;
  from: number;
  to: number;
}

/**
 * Walks over the fields of a protobuf message in place. Only what the answers to reads are made of: varints and
 * length-delimited fields; fixed ones are passed over. Throws `RangeError` when the message ends within a field.
 */
export class FieldReader {
  /** Changes with each `next`. */
  readonly field: Field = { number: 0, value: 0n, from: 0, to: 0 };

  constructor(
    private readonly bytes: Uint8Array,
    private at: number,
    private readonly end: number,
  ) {}

  /** False at the end of the message. */
  next(): boolean {
    if (this.at >= this.end) return false;
    const tag = this.small();
    const { field } = this;
    field.number = tag >>> 3;
    switch (tag & 7) {
      case 0:
        field.value = this.big();
        break;
      case 1:
        this.skip(8);
        break;
      case 2:
        this.skip(this.small());
        break;
      case 5:
        this.skip(4);
        break;
      default:
        throw new RangeError(`wire type ${tag & 7} is not known`);
    }
    return true;
  }

  private skip(length: number): void {
    this.field.from = this.at;
    this.at += length;
    this.field.to = this.at;
    if (this.at > this.end) throw new RangeError('the message ends within a field');
  }

  private byte(): number {
    const byte = this.at < this.end ? this.bytes[this.at] : undefined;
    if (byte === undefined) throw new RangeError('the message ends within a number');
    this.at += 1;
    return byte;
  }

  /** A number below 2³²: tags and lengths. */
  private small(): number {
    let value = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = this.byte();
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return value >>> 0;
      if (shift > 28) throw new RangeError('a length is over 32 bits');
    }
  }

  /** Up to 64 bits, exactly. Most are small, and small ones need no bigint on the way. */
  private big(): bigint {
    let low = 0;
    for (let factor = 1; factor <= 2 ** 42; factor *= 128) {
      const byte = this.byte();
      low += (byte & 0x7f) * factor;
      if (byte < 0x80) return BigInt(low);
    }
    let value = BigInt(low);
    for (let shift = 49n; ; shift += 7n) {
      const byte = this.byte();
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return BigInt.asUintN(64, value);
      if (shift > 63n) throw new RangeError('a number is over 64 bits');
    }
  }
}
