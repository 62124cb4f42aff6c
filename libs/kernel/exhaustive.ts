/** Closes an exhaustive switch: the compiler refuses a case that was forgotten, and a stranger at run time is a fault. */
export const unreachable = (value: never): never => {
  throw new Error(`unexpected case: ${JSON.stringify(value)}`);
};
