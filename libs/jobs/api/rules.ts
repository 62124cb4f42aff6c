import { parseImageReference } from '#contracts';
import {
  below,
  bytesIfValid,
  fault,
  first,
  isRecord,
  map,
  NO_FAULTS,
  secondsIfValid,
  shown,
  text,
} from '#platform/validation';
import type { Fault, Rule } from '#platform/validation';

/* What the fields of a job file must be, beyond their types. */

/** Prefix of the variables and labels that the system itself sets. */
const RESERVED = /^escalon[._/-]/i;

const notReserved: Rule = (value) =>
  typeof value === 'string' && RESERVED.test(value)
    ? fault('RESERVED', 'begins with escalon, which is kept for the system')
    : NO_FAULTS;

const envName = first(
  text({ max: 128, form: /^[A-Za-z_][A-Za-z0-9_]*$/, says: 'named with letters, digits and _' }),
  notReserved,
);
const labelKey = first(
  text({ max: 63, form: /^[A-Za-z0-9._/-]+$/, says: 'named with letters, digits and . _ / -' }),
  notReserved,
);

export const MAX_ARGUMENT = 64 * 1024;

/** A container image that means the same to every engine. */
export const imageReference: Rule = first(text({ max: 512 }), (value) => {
  const parsed = parseImageReference(String(value));
  return parsed.ok ? NO_FAULTS : fault('MALFORMED', `${parsed.message}: ${shown(value)}`);
});

/** What runs is said by the job, or by the image. */
export const programOrImage: Rule = (value) => {
  if (!isRecord(value) || value.image !== undefined) return NO_FAULTS;
  const { command } = value;
  if (command === undefined)
    return fault('REQUIRED', 'is required, unless an image has a program of its own', '/command');
  return Array.isArray(command) && command.length === 0
    ? fault('OUT_OF_RANGE', 'must name the program, unless an image has one of its own', '/command')
    : NO_FAULTS;
};

export const environment = map(envName, text({ min: 0, max: MAX_ARGUMENT }));
export const labels = map(labelKey, text({ min: 0, max: 256 }), 64);

/** Leading `./` say nothing and are folded away. */
export const foldPath = (path: string): string => path.replace(/^(?:\.\/+)+/, '');

/** A path inside the task's folder: relative, with `/`, and no step out of it. */
export const insidePath: Rule = first(text({ max: 1024 }), (value) => {
  const path = String(value);
  if (/^(?:[/\\~]|[A-Za-z]:)/.test(path))
    return fault('MALFORMED', `must be relative to the task's folder, not ${shown(path)}`);
  if (/[\\\p{Cc}]/u.test(path))
    return fault('MALFORMED', 'must separate its parts with / and hold no control characters');
  const parts = foldPath(path).split('/');
  if (parts.includes('..')) return fault('MALFORMED', `must stay inside the task's folder, not ${shown(path)}`);
  return parts.some((part) => part === '' || part === '.')
    ? fault('MALFORMED', `has an empty part: ${shown(path)}`)
    : NO_FAULTS;
});

const JOB_SOURCE = /^job:[A-Za-z0-9-]{1,64}\/(.+)$/s;

const address: Rule = (value) => {
  const url = URL.parse(String(value));
  if (!url?.hostname) return fault('MALFORMED', `is no address: ${shown(value)}`);
  // A source is recorded for ever, and what is recorded can never be forgotten.
  return url.username || url.password ? fault('NOT_ALLOWED', 'must not carry a name or password') : NO_FAULTS;
};

/** What bytes must have. */
export const sha256 = text({ max: 64, form: /^[0-9a-f]{64}$/, says: '64 lower-case hexadecimal digits' });

const digest = text({ max: 71, form: /^sha256:[0-9a-f]{64}$/, says: 'sha256: and 64 lower-case hexadecimal digits' });

const jobPath: Rule = (value) => {
  const path = JOB_SOURCE.exec(String(value))?.[1];
  return path === undefined ? fault('MALFORMED', `must be job:ID/path, not ${shown(value)}`) : insidePath(path);
};

const localFile: Rule = (value) =>
  /^[a-z][a-z0-9+-]*:/i.test(String(value))
    ? fault('NOT_ALLOWED', `must be sha256:…, https://…, http://… or job:ID/path, not ${shown(value)}`)
    : fault(
        'LOCAL_FILE',
        `is a file path; the command line (escalon job submit) uploads files, the API takes sha256:…, https://… or job:ID/path`,
      );

/** Where an input comes from. */
export const inputSource: Rule = first(text({ max: 2048 }), (value) => {
  const source = String(value);
  if (source.startsWith('sha256:')) return digest(source);
  if (/^https?:\/\//.test(source)) return address(source);
  return source.startsWith('job:') ? jobPath(source) : localFile(source);
});

/** A part of a device is cut from one device. */
export const shareOfOne: Rule = (value) =>
  isRecord(value) &&
  typeof value.share === 'number' &&
  value.share < 1 &&
  typeof value.count === 'number' &&
  value.count > 1
    ? fault('CONFLICT', `below 1 takes part of one device, but count is ${value.count}`, '/share')
    : NO_FAULTS;

export const minWithinSize: Rule = (value) =>
  isRecord(value) && typeof value.min === 'number' && typeof value.size === 'number' && value.min > value.size
    ? fault('CONFLICT', `must not be over size, which is ${value.size}`, '/min')
    : NO_FAULTS;

/** Items are divided among partitions, which all have some, and come to an end, which only a batch job does. */
export const itemsFitJob: Rule = (file) => {
  const { batch, type = 'batch', count = 1 } = isRecord(file) ? file : {};
  const items = isRecord(batch) ? batch.items : undefined;
  // What is no count of items has been told by the field's own rule.
  if (typeof items !== 'number' || items < 1) return NO_FAULTS;
  const { min } = batch as { readonly min?: unknown };
  return [
    ...(type === 'batch'
      ? NO_FAULTS
      : fault('NOT_ALLOWED', `is of jobs of type batch, and this is of type ${shown(type)}`, '/batch/items')),
    ...(typeof count === 'number' && items < count
      ? fault('CONFLICT', `must not be under count, which is ${count}`, '/batch/items')
      : NO_FAULTS),
    ...(typeof min === 'number' && min > items
      ? fault('CONFLICT', `must not be over items, which is ${items}`, '/batch/min')
      : NO_FAULTS),
  ];
};

export const intervalsRise: Rule = (value) => {
  if (!isRecord(value)) return NO_FAULTS;
  const interval = secondsIfValid(value.interval);
  const longest = secondsIfValid(value.maxInterval);
  return interval !== undefined && longest !== undefined && longest < interval
    ? fault('CONFLICT', `must not be under interval, which is ${shown(value.interval)}`, '/maxInterval')
    : NO_FAULTS;
};

/** What is grown from must fit under what it may grow to; `defaultMemory` bytes are what a file without one asks for. */
export const memoryFitsUnderMax =
  (defaultMemory: number): Rule =>
  (file) => {
    const { resources, retry } = isRecord(file) ? file : {};
    const max = isRecord(retry) && isRecord(retry.memory) ? bytesIfValid(retry.memory.max) : undefined;
    const given = isRecord(resources) ? resources.memory : undefined;
    const memory = given === undefined ? defaultMemory : bytesIfValid(given);
    if (max === undefined || memory === undefined || max >= memory) return NO_FAULTS;
    const says = `must not be under resources.memory, which is ${given === undefined ? `${defaultMemory} bytes` : shown(given)}`;
    return fault('CONFLICT', says, '/retry/memory/max');
  };

export const overOne: Rule = (value) =>
  typeof value === 'number' && value <= 1 ? fault('OUT_OF_RANGE', `must be over 1, not ${shown(value)}`) : NO_FAULTS;

/** Waiting and running must fit into the whole. */
export const timeoutsFit: Rule = (value) => {
  if (!isRecord(value)) return NO_FAULTS;
  const total = secondsIfValid(value.total);
  const parts = (secondsIfValid(value.queue) ?? 0) + (secondsIfValid(value.run) ?? 0);
  return total !== undefined && parts > total
    ? fault('CONFLICT', `is ${total} s, less than queue and run together (${parts} s)`, '/total')
    : NO_FAULTS;
};

export const someWeight: Rule = (value) =>
  isRecord(value) && Object.values(value).every((weight) => weight === 0)
    ? fault('CONFLICT', 'must not all be 0')
    : NO_FAULTS;

/** A source that names its content needs no second digest; one that anybody on the way can change needs one. */
export const digestsFit: Rule = (value): readonly Fault[] => {
  if (!Array.isArray(value)) return NO_FAULTS;
  return value.flatMap((item: unknown, index) => {
    if (!isRecord(item) || typeof item.source !== 'string') return NO_FAULTS;
    const { source, sha256: given } = item;
    if (source.startsWith('http://') && given === undefined)
      return below(
        index,
        fault('REQUIRED', 'is required for http://…: nothing else tells whether the bytes are right', '/sha256'),
      );
    return source.startsWith('sha256:') && typeof given === 'string' && source !== `sha256:${given}`
      ? below(index, fault('CONFLICT', `is another digest than that of the source`, '/sha256'))
      : NO_FAULTS;
  });
};

/** No two items of a list have the same text under a name. */
const distinct =
  (name: string, says: string, fold: (text: string) => string = (text) => text): Rule =>
  (value): readonly Fault[] => {
    if (!Array.isArray(value)) return NO_FAULTS;
    const seen = new Set<string>();
    return value.flatMap((item: unknown, index) => {
      const field = isRecord(item) ? item[name] : undefined;
      if (typeof field !== 'string') return NO_FAULTS;
      const text = fold(field);
      const taken = seen.has(text);
      seen.add(text);
      return taken ? below(index, fault('DUPLICATE', `${says}: ${shown(text)}`, `/${name}`)) : NO_FAULTS;
    });
  };

/** No two inputs are written to the same place. */
export const distinctPaths = distinct('path', 'is the path of another input', foldPath);

/** No input lies below one that is a file: only an archive that is unpacked makes a folder. */
export const belowNoFile: Rule = (value): readonly Fault[] => {
  if (!Array.isArray(value)) return NO_FAULTS;
  const inputs = value.flatMap((item: unknown, index) =>
    isRecord(item) && typeof item.path === 'string'
      ? [{ index, path: foldPath(item.path), isFile: item.unpack !== true }]
      : [],
  );
  return inputs.flatMap(({ index, path }) => {
    const file = inputs.find((other) => other.isFile && path.startsWith(`${other.path}/`));
    return file
      ? below(index, fault('CONFLICT', `lies below another input, which is a file: ${file.path}`, '/path'))
      : [];
  });
};

/** A job is waited for once: two of its ends would contradict each other. */
export const distinctJobs = distinct('job', 'is waited for already');
