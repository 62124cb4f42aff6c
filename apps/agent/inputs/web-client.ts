import { lookup } from 'node:dns';
import type { LookupAddress, LookupOptions } from 'node:dns';
import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import type { LookupFunction } from 'node:net';
import type { Readable } from 'node:stream';
import { getCACertificates } from 'node:tls';
import { Agent, request } from 'undici';
import type { Dispatcher } from 'undici';
import { Unreachable } from '../client/faults.js';
import { ExecutionFault, failure } from '../executions/ending.js';
import { AddressPolicy } from './address-policy.js';
import { isWebAddress } from './source.js';

export interface WebRules {
  /** Plain `http:` too; default false. */
  readonly allowHttp: boolean;
  /** Address ranges that are fetched from although they are the machine's own, its link's or a metadata service's. */
  readonly allowAddresses: readonly string[];
  /** File of certificate authorities (PEM) that are trusted beside the system's. */
  readonly authorities?: string;
}

export interface WebAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Readable;
}

const MOST_REDIRECTS = 5;
const CONNECT_LIMIT = 15_000;
/** Milliseconds without an answer's head, or without a further byte of its body. */
const SILENCE = 60_000;
const REDIRECTS = new Set([301, 302, 303, 307, 308]);

const fault = (code: string, message: string): ExecutionFault => new ExecutionFault(failure('input', code, message));

/**
 * Fetches from other people's servers. Every address on the way, after each redirect too, has to be one that the rules
 * permit; what they forbid is an `ExecutionFault`, what could not be reached `Unreachable`.
 */
export class WebClient {
  private readonly policy: AddressPolicy;
  private readonly dispatcher: Agent;

  constructor(private readonly rules: WebRules) {
    this.policy = new AddressPolicy(rules.allowAddresses);
    const ca = rules.authorities === undefined ? {} : { ca: trusted(rules.authorities) };
    this.dispatcher = new Agent({
      connect: { ...ca, lookup: permittedLookup(this.policy), timeout: CONNECT_LIMIT },
      connections: 8,
      pipelining: 1,
    });
  }

  /** GET with redirects followed; the status is the caller's to judge. The body must be read or destroyed. */
  async get(address: string, headers: Readonly<Record<string, string>>, signal: AbortSignal): Promise<WebAnswer> {
    let url = address;
    for (let hops = 0; hops <= MOST_REDIRECTS; hops += 1) {
      this.check(address, url);
      const answer = await this.ask(url, headers, signal);
      const location = answer.headers['location'];
      if (!REDIRECTS.has(answer.statusCode) || typeof location !== 'string')
        return { status: answer.statusCode, headers: answer.headers, body: answer.body };
      await answer.body.dump();
      if (!URL.canParse(location, url)) throw fault('input-source', `${address} leads to no address: ${location}`);
      url = new URL(location, url).href;
    }
    throw fault('input-source', `${address} leads on more than ${MOST_REDIRECTS} times`);
  }

  async close(): Promise<void> {
    await this.dispatcher.destroy();
  }

  /** A name is judged when it is resolved; an address in its place never is, so it is judged here. */
  private check(address: string, url: string): void {
    const where = url === address ? url : `${address} leads to ${url}, which`;
    if (!isWebAddress(url, this.rules.allowHttp)) throw fault('input-source', `${where} is not fetched: not by https`);
    const host = new URL(url).hostname.replace(/^\[|\]$/g, '');
    if (isIP(host) !== 0 && !this.policy.permits(host))
      throw fault('input-address', `${where} is not fetched: ${host} is no address that inputs come from`);
  }

  private async ask(
    url: string,
    headers: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ): Promise<Dispatcher.ResponseData> {
    try {
      return await request(url, {
        method: 'GET',
        headers: { accept: '*/*', 'accept-encoding': 'identity', 'user-agent': 'escalon-agent', ...headers },
        dispatcher: this.dispatcher,
        headersTimeout: SILENCE,
        bodyTimeout: SILENCE,
        signal,
      });
    } catch (error) {
      const refused = refusedAddress(error);
      throw refused ? fault('input-address', `${url} is not fetched: ${refused.message}`) : new Unreachable(error);
    }
  }
}

/** All that Node trusts by itself (`NODE_EXTRA_CA_CERTS` too) and what the file holds. */
const trusted = (file: string): string[] => [...getCACertificates('default'), readFileSync(file, 'utf8')];

class RefusedAddress extends Error {}

const refusedAddress = (error: unknown): RefusedAddress | undefined => {
  for (let cause = error; cause instanceof Error; cause = cause.cause)
    if (cause instanceof RefusedAddress) return cause;
  return undefined;
};

/** Resolves names to permitted addresses only; the connection is made to exactly what was judged. */
const permittedLookup =
  (policy: AddressPolicy): LookupFunction =>
  (hostname, options, callback) => {
    const all: LookupOptions & { all: true } = { ...options, all: true };
    lookup(hostname, all, (error, addresses) => {
      if (error) return callback(error, []);
      const permitted = addresses.filter(({ address }) => policy.permits(address));
      const [first] = permitted;
      if (!first) return callback(new RefusedAddress(refusal(hostname, addresses)), []);
      if (options.all === true) callback(null, permitted);
      else callback(null, first.address, first.family);
    });
  };

const refusal = (hostname: string, addresses: readonly LookupAddress[]): string => {
  const listed = addresses.map(({ address }) => address).join(', ');
  return `${hostname} is at ${listed}, from where inputs do not come`;
};
