import { InvalidArgumentError } from 'commander';
import type { ConnectionFlags } from '../connection.js';

export interface UpFlags extends ConnectionFlags {
  readonly port?: number;
  readonly agent: boolean;
  readonly name?: string;
  readonly output: string;
}

const MAX_PORT = 65_535;

/** A port number, also from the environment. */
export const portOf = (text: string): number => {
  const port = Number(text);
  if (text.trim() === '' || !Number.isInteger(port) || port < 0 || port > MAX_PORT) {
    throw new InvalidArgumentError(`a port is a whole number from 0 to ${MAX_PORT}`);
  }
  return port;
};
