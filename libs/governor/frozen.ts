/** A copy of plain data that nobody can change, at any depth. */
export const frozenCopy = <Data>(data: Data): Data => frozen(structuredClone(data));

const frozen = <Data>(data: Data): Data => {
  if (typeof data !== 'object' || data === null) return data;
  for (const part of Object.values(data)) frozen(part);
  return Object.freeze(data);
};
