import { BlockList, isIP } from 'node:net';

/**
 * Where no input comes from unless the node's owner says so: the machine itself, its link (RFC 3927, RFC 4291 and with them the
 * metadata services of clouds, which hand out credentials), unspecified and multicast addresses. Private networks (RFC 1918)
 * are taken: that is where a laboratory keeps its data.
 */
const REFUSED: readonly string[] = [
  '0.0.0.0/8',
  '100.100.100.200/32',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '224.0.0.0/4',
  '255.255.255.255/32',
  '::/128',
  '::1/128',
  'fd00:ec2::254/128',
  'fe80::/10',
  'ff00::/8',
];

/** An address range as `address/prefix`, or one address alone. */
export const isAddressRange = (text: string): boolean => {
  const [address = '', prefix, ...rest] = text.split('/');
  const family = isIP(address);
  if (family === 0 || rest.length > 0) return false;
  return prefix === undefined || (/^\d{1,3}$/.test(prefix) && Number(prefix) <= (family === 4 ? 32 : 128));
};

const rangesOf = (ranges: readonly string[]): BlockList => {
  const list = new BlockList();
  for (const range of ranges) {
    const [address = '', prefix] = range.split('/');
    const family = isIP(address) === 4 ? 'ipv4' : 'ipv6';
    list.addSubnet(address, Number(prefix ?? (family === 'ipv4' ? 32 : 128)), family);
  }
  return list;
};

/** NAT64 (RFC 6052) and 6to4 (RFC 3056) carry an IPv4 address in an IPv6 one: it is judged by that. */
const CARRIERS: readonly (readonly [range: BlockList, group: number])[] = [
  [rangesOf(['64:ff9b::/96']), 6],
  [rangesOf(['2002::/16']), 1],
];

/** Decides by address, not by name, from where inputs may come: a name can lead anywhere, and elsewhere the next time. */
export class AddressPolicy {
  private readonly refused = rangesOf(REFUSED);
  private readonly allowed: BlockList;

  /** `allow`: ranges that the owner takes whatever they are. */
  constructor(allow: readonly string[] = []) {
    this.allowed = rangesOf(allow);
  }

  /** `address` is an IP address without brackets. */
  permits(address: string): boolean {
    const plain = address.replace(/%.*$/, '');
    const family = isIP(plain);
    if (family === 0) return false;
    const kind = family === 4 ? 'ipv4' : 'ipv6';
    if (this.allowed.check(plain, kind)) return true;
    if (this.refused.check(plain, kind)) return false;
    const carried = family === 6 ? carriedAddress(plain) : undefined;
    return carried === undefined || this.permits(carried);
  }
}

const carriedAddress = (address: string): string | undefined => {
  const group = CARRIERS.find(([range]) => range.check(address, 'ipv6'))?.[1];
  if (group === undefined) return undefined;
  const groups = groupsOf(address);
  const bytes = [groups[group] ?? 0, groups[group + 1] ?? 0].flatMap((two) => [two >> 8, two & 255]);
  return bytes.join('.');
};

/** The eight groups of an IPv6 address in its short form. */
const groupsOf = (address: string): number[] => {
  const [head = '', tail] = new URL(`http://[${address}]`).hostname.slice(1, -1).split('::');
  const numbers = (text: string): number[] => (text === '' ? [] : text.split(':').map((group) => parseInt(group, 16)));
  const [left, right] = [numbers(head), numbers(tail ?? '')];
  return [...left, ...new Array<number>(8 - left.length - right.length).fill(0), ...right];
};
