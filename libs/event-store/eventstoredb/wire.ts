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

/** Builds a message in one buffer, of the size that the `sizeOf…` functions told. Field numbers are below 16. */
export class FieldWriter {
  readonly bytes: Buffer;
  private at = 0;

  constructor(size: number) {
    this.bytes = Buffer.allocUnsafe(size);
  }

  /** Begins a message within this one. */
  open(field: number, size: number): this {
    return this.raw((field << 3) | 2).raw(size);
  }

  /** A text or bytes, which take `size` bytes as UTF-8. */
  text(field: number, text: string, size = text.length): this {
    this.open(field, size);
    // As many bytes as characters: there is nothing but ASCII in it.
    this.at += this.bytes.write(text, this.at, size === text.length ? 'latin1' : 'utf8');
    return this;
  }

  number(field: number, value: number | bigint): this {
    this.raw(field << 3);
    if (typeof value === 'number' || value <= Number.MAX_SAFE_INTEGER) return this.raw(Number(value));
    let rest = value;
    for (; rest >= 0x80n; rest >>= 7n) this.bytes[this.at++] = Number(rest & 0x7fn) | 0x80;
    return this.raw(Number(rest));
  }

  private raw(value: number): this {
    let rest = value;
    for (; rest >= 0x80; rest = Math.floor(rest / 128)) this.bytes[this.at++] = (rest % 128) | 0x80;
    this.bytes[this.at++] = rest;
    return this;
  }
}

/** Bytes that a number takes, without its field's. */
export const sizeOfNumber = (value: number | bigint): number => {
  let size = 1;
  if (typeof value === 'bigint') for (let rest = value; rest >= 0x80n; rest >>= 7n) size += 1;
  else for (let rest = value; rest >= 0x80; rest = Math.floor(rest / 128)) size += 1;
  return size;
};

/** Bytes that a field takes whose content takes `size`. */
export const sizeOfField = (size: number): number => 1 + sizeOfNumber(size) + size;
