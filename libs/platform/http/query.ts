import { Optional, plain, text, validateInput } from '../validation/index.js';
import type { InputClass } from '../validation/index.js';
import { parsed } from './parsed.js';

/** A page's size as it stands in an address: 1 or more; what is over the list's bound is cut to it. */
export const limitText = text({ max: 9, form: /^0*[1-9]\d*$/, says: 'a whole number of at least 1' });

/** What every list takes. */
export class ListQuery {
  @Optional(limitText)
  readonly limit?: string;

  @Optional(text({ max: 4096 }))
  readonly cursor?: string;
}

type Plain<Query> = { readonly [Name in keyof Query]: Query[Name] };

/** The query of an address, each name once; an empty value is as good as none. All mistakes are told at once. */
export const readQuery = <Query extends object>(type: InputClass<Query>, query: unknown): Plain<Query> => {
  const given = Object.entries(query ?? {}).filter(([, value]) => value !== '');
  return plain(parsed(validateInput(type, Object.fromEntries(given))));
};

/** Whether a name from an address could be that of anything: no store holds control characters or broken ones. */
export const storableId = (id: string): boolean => id.isWellFormed() && !/\p{Cc}/u.test(id);
