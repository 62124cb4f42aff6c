/*
 * Traces in the published openb format (Alibaba, cluster-trace-gpu-v2023): comma-separated text with a line of names. Columns
 * are found by name; those that are not required may be missing or empty, and a line may end early.
 */

export interface TraceNode {
  readonly name: string;
  readonly cpuMilli: number;
  readonly memoryMib: number;
  readonly gpus: number;
  /** As written; empty when unknown. */
  readonly model: string;
}

export interface TraceJob {
  readonly name: string;
  readonly cpuMilli: number;
  readonly memoryMib: number;
  readonly gpus: number;
  /** Share of each device in thousandths; 0 without GPUs. */
  readonly gpuMilli: number;
  /** Accepted models, each once; empty accepts any. */
  readonly models: readonly string[];
  /** Seconds from the beginning of the trace. */
  readonly createdAt: number;
  /** Seconds; Infinity for a job that never leaves. */
  readonly duration: number;
}

export interface TraceMistake {
  /** From 1. */
  readonly line: number;
  readonly message: string;
}

/** What a text says, or everything that is wrong with it. */
export type Read<Item> =
  | { readonly kind: 'read'; readonly items: readonly Item[] }
  | { readonly kind: 'mistakes'; readonly mistakes: readonly TraceMistake[] };

const DEVICES = ['gpu', 'num_gpu'];

export const readNodes = (text: string): Read<TraceNode> =>
  readLines(text, ['sn', 'cpu_milli', 'memory_mib'], 'sn', (line) => ({
    name: line.text('sn'),
    cpuMilli: line.whole('cpu_milli', 0),
    memoryMib: line.whole('memory_mib', 0),
    gpus: line.whole(DEVICES, 0, MOST_DEVICES),
    model: line.text('model'),
  }));

export const readJobs = (text: string): Read<TraceJob> =>
  readLines(text, ['name', 'cpu_milli', 'memory_mib'], 'name', (line) => {
    const gpus = line.whole(DEVICES, 0, MOST_DEVICES);
    const createdAt = line.amount('creation_time', 0);
    const deletedAt = line.amount('deletion_time', Infinity);
    if (deletedAt < createdAt) line.mistake(`deletion_time ${deletedAt} is before creation_time ${createdAt}`);
    return {
      name: line.text('name'),
      cpuMilli: line.whole('cpu_milli', 0),
      memoryMib: line.whole('memory_mib', 0),
      gpus,
      gpuMilli: gpus > 0 ? line.share('gpu_milli') : 0,
      models: gpus > 0 ? modelsOf(line.text('gpu_spec')) : [],
      createdAt,
      duration: deletedAt - createdAt,
    };
  });

/** More in one machine is a slip of the pen. */
const MOST_DEVICES = 1024;

const modelsOf = (text: string): string[] => [
  ...new Set(
    text
      .split('|')
      .map((model) => model.trim())
      .filter((model) => model !== ''),
  ),
];

/** The cells of one line, read with complaints. */
class Line {
  constructor(
    private readonly number: number,
    private readonly places: ReadonlyMap<string, number>,
    private readonly cells: readonly string[],
    private readonly mistakes: TraceMistake[],
  ) {}

  mistake(message: string): void {
    this.mistakes.push({ line: this.number, message });
  }

  text(name: string): string {
    return this.cells[this.places.get(name) ?? -1]?.trim() ?? '';
  }

  /** A number from 0 up. */
  amount(name: string, absent: number): number {
    const text = this.text(name);
    if (text === '') return absent;
    const value = Number(text);
    if (Number.isFinite(value) && value >= 0) return value;
    this.mistake(`${name} must be a number from 0, not ${JSON.stringify(text)}`);
    return absent;
  }

  /** A whole number from 0 to `most`; under the first of the names that there is. */
  whole(names: string | readonly string[], absent: number, most = Number.MAX_SAFE_INTEGER): number {
    const name = [names].flat().find((candidate) => this.places.has(candidate));
    if (name === undefined) return absent;
    const value = this.amount(name, absent);
    if (Number.isInteger(value) && value <= most) return value;
    const range = most === Number.MAX_SAFE_INTEGER ? 'from 0' : `from 0 to ${most}`;
    this.mistake(`${name} must be a whole number ${range}, not ${value}`);
    return absent;
  }

  share(name: string): number {
    const value = this.whole(name, 1000);
    if (value >= 1 && value <= 1000) return value;
    this.mistake(`${name} must be 1 to 1000 for a job that asks for GPUs, not ${value}`);
    return 1000;
  }
}

const readLines = <Item>(
  text: string,
  required: readonly string[],
  key: string,
  read: (line: Line) => Item,
): Read<Item> => {
  const lines = text.replace(/^\uFEFF/, '').split(/\r?\n/);
  const names = (lines[0] ?? '').split(',').map((name) => name.trim());
  const mistakes = headMistakes(names, required);
  if (mistakes.length > 0) return { kind: 'mistakes', mistakes };
  const places = new Map(names.map((name, place) => [name, place]));
  const items: Item[] = [];
  const seen = new Map<string, number>();
  lines.slice(1).forEach((row, index) => {
    if (row.trim() === '') return;
    const number = index + 2;
    const cells = row.split(',');
    const line = new Line(number, places, cells, mistakes);
    if (cells.length > names.length) line.mistake(`has ${cells.length} cells under ${names.length} names`);
    for (const name of required) if (line.text(name) === '') line.mistake(`${name} is missing`);
    const first = seen.get(line.text(key));
    if (first !== undefined) line.mistake(`${key} ${line.text(key)} was taken on line ${first}`);
    else if (line.text(key) !== '') seen.set(line.text(key), number);
    items.push(read(line));
  });
  if (items.length === 0) mistakes.push({ line: 1, message: 'nothing follows the names of the columns' });
  return mistakes.length > 0 ? { kind: 'mistakes', mistakes } : { kind: 'read', items };
};

const headMistakes = (names: readonly string[], required: readonly string[]): TraceMistake[] => {
  const missing = required.filter((name) => !names.includes(name));
  const twice = names.filter((name, place) => name !== '' && names.indexOf(name) !== place);
  return [
    ...missing.map((name) => ({ line: 1, message: `the column ${name} is missing` })),
    ...twice.map((name) => ({ line: 1, message: `the column ${name} is there twice` })),
  ];
};
