/** IP addresses and networks of the Common Expression Language, as Kubernetes has them: `ip('…')`, `cidr('…')`. */
import type { Environment } from '@marcbachmann/cel-js';
import { quoted } from '../../../lib/quoted.ts';

const BITS = { 4: 32, 6: 128 } as const;
type Family = keyof typeof BITS;

/** The value of `ip('…')`. */
export class IpAddress {
  readonly family: Family;
  readonly value: bigint;

  constructor(family: Family, value: bigint) {
    this.family = family;
    this.value = value;
  }

  toString(): string {
    return this.family === 4 ? text4(this.value) : text6(this.value);
  }
}

/** The value of `cidr('…')`: an address with the length of its network's prefix. */
export class Network {
  readonly address: IpAddress;
  readonly length: number;

  constructor(address: IpAddress, length: number) {
    this.address = address;
    this.length = length;
  }

  get masked(): Network {
    const { family } = this.address;
    return new Network(new IpAddress(family, prefixOf(this.address, this.length)), this.length);
  }

  contains(address: IpAddress): boolean {
    return (
      address.family === this.address.family && prefixOf(address, this.length) === prefixOf(this.address, this.length)
    );
  }

  toString(): string {
    return `${this.address}/${this.length}`;
  }
}

function prefixOf({ family, value }: IpAddress, length: number): bigint {
  const rest = BigInt(BITS[family] - length);
  return (value >> rest) << rest;
}

const text4 = (value: bigint): string => [24n, 16n, 8n, 0n].map((shift) => (value >> shift) & 255n).join('.');

/** The longest run of zeros, the first of equal ones, is left out. */
function text6(value: bigint): string {
  const parts = groupsOf(value).map((part) => part.toString(16));
  const zeros = { at: -1, length: 1 };
  for (let at = 0; at < parts.length; at++) {
    let length = 0;
    while (parts[at + length] === '0') length++;
    if (length > zeros.length) Object.assign(zeros, { at, length });
  }
  if (zeros.at < 0) return parts.join(':');
  return `${parts.slice(0, zeros.at).join(':')}::${parts.slice(zeros.at + zeros.length).join(':')}`;
}

const groupsOf = (value: bigint): readonly bigint[] =>
  Array.from({ length: 8 }, (_, at) => (value >> BigInt(16 * (7 - at))) & 0xffffn);

function parse4(text: string): bigint | undefined {
  const parts = text.split('.');
  const isRight = parts.length === 4 && parts.every((part) => /^(0|[1-9]\d{0,2})$/.test(part) && Number(part) < 256);
  return isRight ? parts.reduce((value, part) => (value << 8n) | BigInt(part), 0n) : undefined;
}

/** The last two groups may be written as an IPv4 address. */
function groups(text: string): readonly bigint[] | undefined {
  if (text === '') return [];
  const found: bigint[] = [];
  const parts = text.split(':');
  for (const [at, part] of parts.entries()) {
    const v4 = at === parts.length - 1 && part.includes('.') ? parse4(part) : undefined;
    if (v4 !== undefined) found.push(v4 >> 16n, v4 & 0xffffn);
    else if (/^[0-9a-fA-F]{1,4}$/.test(part)) found.push(BigInt(`0x${part}`));
    else return undefined;
  }
  return found;
}

function parse6(text: string): bigint | undefined {
  const [before = '', after, ...more] = text.split('::');
  const [left, right] = [groups(before), groups(after ?? '')];
  // in front of `::` an IPv4 address cannot stand
  if (left === undefined || right === undefined || more.length > 0 || (after !== undefined && before.includes('.')))
    return undefined;
  const missing = 8 - left.length - right.length;
  if (after === undefined ? missing !== 0 : missing < 1) return undefined;
  const all = [...left, ...Array.from({ length: missing }, () => 0n), ...right];
  return all.reduce((value, part) => (value << 16n) | part, 0n);
}

const MAPPED = 0xffffn << 32n;
const isMapped = (value: bigint): boolean => (value >> 32n) << 32n === MAPPED;

/** @throws RangeError that says what is wrong */
export function parseAddress(text: string): IpAddress {
  const percent = text.indexOf('%');
  if (percent >= 0 && parse6(text.slice(0, percent)) !== undefined && percent < text.length - 1)
    throw new RangeError(`IP address ${quoted(text)} with zone value is not allowed`);
  const v4 = parse4(text);
  if (v4 !== undefined) return new IpAddress(4, v4);
  const v6 = parse6(text);
  if (v6 === undefined)
    throw new RangeError(
      `IP Address ${quoted(text)} parse error during conversion from string: ParseAddr(${quoted(text)}): unable to parse IP`,
    );
  if (isMapped(v6)) throw new RangeError(`IPv4-mapped IPv6 address ${quoted(text)} is not allowed`);
  return new IpAddress(6, v6);
}

/** @throws RangeError that says what is wrong */
export function parseNetwork(text: string): Network {
  const slash = text.lastIndexOf('/');
  const refused = (why: string): RangeError =>
    new RangeError(
      `network address parse error during conversion from string: netip.ParsePrefix(${quoted(text)}): ${why}`,
    );
  if (slash < 0) throw refused("no '/'");
  const [address, bits] = [text.slice(0, slash), text.slice(slash + 1)];
  const v4 = parse4(address);
  const value = v4 ?? parse6(address);
  if (value === undefined) throw refused(`ParseAddr(${quoted(address)}): unable to parse IP`);
  const family: Family = v4 === undefined ? 6 : 4;
  if (!/^(0|[1-9]\d*)$/.test(bits)) throw refused(`bad bits after slash: ${quoted(bits)}`);
  if (Number(bits) > BITS[family]) throw refused('prefix length out of range');
  if (family === 6 && isMapped(value)) throw new RangeError(`IPv4-mapped IPv6 address ${quoted(text)} is not allowed`);
  return new Network(new IpAddress(family, value), Number(bits));
}

function reads(parse: (text: string) => unknown): (text: string) => boolean {
  return (text) => {
    try {
      parse(text);
      return true;
    } catch {
      return false;
    }
  };
}

const within =
  (v4: string, v6: string) =>
  (address: IpAddress): boolean =>
    [v4, v6].some((text) => parseNetwork(text).contains(address));

const isUnspecified = ({ value }: IpAddress): boolean => value === 0n;
const isLoopback = within('127.0.0.0/8', '::1/128');
const isMulticast = within('224.0.0.0/4', 'ff00::/8');
const isLinkLocalMulticast = ({ family, value }: IpAddress): boolean =>
  // of IPv6, the second byte's low half says how far it reaches
  family === 4 ? value >> 8n === 0xe00000n : value >> 120n === 0xffn && ((value >> 112n) & 0xfn) === 2n;
const isLinkLocalUnicast = within('169.254.0.0/16', 'fe80::/10');
const isGlobalUnicast = (address: IpAddress): boolean =>
  !(address.family === 4 && address.value === 0xffffffffn) &&
  ![isUnspecified, isLoopback, isMulticast, isLinkLocalUnicast].some((is) => is(address));

/** What `ip.isCanonical` is called on. */
class IpFunctions {}

export function registerAddresses(environment: Environment): void {
  environment
    .registerType('net.IP', { ctor: IpAddress, fields: {} })
    .registerType('net.CIDR', { ctor: Network, fields: {} })
    .registerType('IpFunctions', { ctor: IpFunctions, fields: {} })
    .registerConstant('ip', 'IpFunctions', new IpFunctions())
    .registerFunction(
      'IpFunctions.isCanonical(string): bool',
      (_: IpFunctions, text: string) => String(parseAddress(text)) === text,
    )
    .registerFunction('ip(string): net.IP', parseAddress)
    .registerFunction('isIP(string): bool', reads(parseAddress))
    .registerFunction('string(net.IP): string', String)
    .registerFunction('net.IP.family(): int', ({ family }: IpAddress) => BigInt(family))
    .registerFunction('net.IP.isUnspecified(): bool', isUnspecified)
    .registerFunction('net.IP.isLoopback(): bool', isLoopback)
    .registerFunction('net.IP.isLinkLocalMulticast(): bool', isLinkLocalMulticast)
    .registerFunction('net.IP.isLinkLocalUnicast(): bool', isLinkLocalUnicast)
    .registerFunction('net.IP.isGlobalUnicast(): bool', isGlobalUnicast)
    .registerOperator('net.IP == net.IP', (a: IpAddress, b: IpAddress) => String(a) === String(b))
    .registerFunction('cidr(string): net.CIDR', parseNetwork)
    .registerFunction('isCIDR(string): bool', reads(parseNetwork))
    .registerFunction('string(net.CIDR): string', String)
    .registerFunction('net.CIDR.ip(): net.IP', ({ address }: Network) => address)
    .registerFunction('net.CIDR.masked(): net.CIDR', ({ masked }: Network) => masked)
    .registerFunction('net.CIDR.prefixLength(): int', ({ length }: Network) => BigInt(length))
    .registerFunction('net.CIDR.containsIP(net.IP): bool', (network: Network, address: IpAddress) =>
      network.contains(address),
    )
    .registerFunction('net.CIDR.containsIP(string): bool', (network: Network, text: string) =>
      network.contains(parseAddress(text)),
    )
    .registerFunction('net.CIDR.containsCIDR(net.CIDR): bool', containsNetwork)
    .registerFunction('net.CIDR.containsCIDR(string): bool', (network: Network, text: string) =>
      containsNetwork(network, parseNetwork(text)),
    )
    .registerOperator('net.CIDR == net.CIDR', (a: Network, b: Network) => String(a) === String(b));
}

const containsNetwork = (network: Network, inner: Network): boolean =>
  network.length <= inner.length && network.contains(inner.address);
