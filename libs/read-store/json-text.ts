/**
 * A value as JSON that Postgres can take apart. It holds neither NUL nor half a surrogate pair (the end of a text that was
 * cut), so both become U+FFFD. JSON writes whole pairs as they are, so an escaped surrogate is half of one.
 */
export const storableJson = (value: unknown): string => {
  const text = JSON.stringify(value);
  return text.includes('\\u0000') || text.includes('\\ud') ? text.replace(ESCAPES, replacement) : text;
};

/** An escaped backslash that happens to stand before `u0000` is matched first, and stays. */
const ESCAPES = /\\(\\|u0000|ud[89a-f][0-9a-f]{2})/g;

const replacement = (escape: string): string => (escape === '\\\\' ? escape : '\\ufffd');
