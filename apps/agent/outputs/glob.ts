/** Whether the pattern names one path rather than a set. */
export const isLiteral = (pattern: string): boolean => !/[*?[\]{}]/.test(pattern);

const special = /[.+^$()|\\/]/;

/**
 * A glob as a regular expression over `/`-separated relative paths: `*` and `?` stay within one name, `**` spans any
 * number of folders, `[ab]`, `[!ab]` and `{a,b}` as in a shell. A leading dot needs no special mention.
 */
export const globToRegExp = (pattern: string): RegExp => {
  let source = '';
  let depth = 0;
  for (let index = 0; index < pattern.length; index += 1) {
    const char = pattern.charAt(index);
    if (char === '*') {
      const many = pattern.charAt(index + 1) === '*';
      const folder = many && pattern.charAt(index + 2) === '/';
      source += folder ? '(?:[^/]+/)*' : many ? '.*' : '[^/]*';
      index += folder ? 2 : many ? 1 : 0;
    } else if (char === '?') source += '[^/]';
    else if (char === '[') {
      const end = pattern.indexOf(']', index + 2);
      if (end < 0) source += '\\[';
      else {
        const body = pattern
          .slice(index + 1, end)
          .replace(/\\/g, '\\\\')
          .replace(/\^/g, '\\^');
        source += body.startsWith('!') ? `[^/${body.slice(1)}]` : `[${body}]`;
        index = end;
      }
    } else if (char === '{') {
      depth += 1;
      source += '(?:';
    } else if (char === '}' && depth > 0) {
      depth -= 1;
      source += ')';
    } else if (char === ',' && depth > 0) source += '|';
    else source += special.test(char) || char === '}' || char === ']' ? `\\${char}` : char;
  }
  return new RegExp(`^${source}${')'.repeat(depth)}$`, 's');
};
