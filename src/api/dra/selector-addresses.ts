/** Functions of Kubernetes' CEL environment for IP addresses, CIDR ranges and URLs. */
import type { Environment } from '@marcbachmann/cel-js';
import { tryRun } from '#lib';
import { chargeText } from '../schema/cel-cost.ts';

/** IP address as a value of an expression. */
export class SelectorIp {
  readonly bits: 32 | 128;
  readonly value: bigint;

  constructor(bits: 32 | 128, value: bigint) {
    this.bits = bits;
    this.value = value;
  }

  /** Returns the first bits of the address. */
  prefix(length: number): bigint {
    return this.value >> BigInt(this.bits - length);
  }

  /** Returns true if the address is in a range. */
  isIn({ address, length }: SelectorCidr): boolean {
    return this.bits === address.bits && this.prefix(length) === address.prefix(length);
  }

  toString(): string {
    if (this.bits === 32) return [24n, 16n, 8n, 0n].map((shift) => (this.value >> shift) & 255n).join('.');
    const words = Array.from({ length: 8 }, (_, at) => (this.value >> BigInt(112 - 16 * at)) & 0xffffn);
    const text = words.map((word) => word.toString(16)).join(':');
    // the first of the longest runs of at least two zeros is shortened
    const runs = [...text.matchAll(/(?<![0-9a-f])0(?::0)+(?![0-9a-f])/g)];
    const [longest] = runs.toSorted((a, b) => b[0].length - a[0].length || a.index - b.index);
    if (longest === undefined) return text;
    const [before, after] = [text.slice(0, longest.index), text.slice(longest.index + longest[0].length)];
    return `${before.replace(/:$/, '')}::${after.replace(/^:/, '')}`;
  }
}

/** Range of addresses. The address can have bits behind the prefix. */
export class SelectorCidr {
  readonly address: SelectorIp;
  readonly length: number;

  constructor(address: SelectorIp, length: number) {
    this.address = address;
    this.length = length;
  }

  get masked(): SelectorCidr {
    const { bits } = this.address;
    const rest = BigInt(bits - this.length);
    return new SelectorCidr(new SelectorIp(bits, (this.address.value >> rest) << rest), this.length);
  }

  toString(): string {
    return `${this.address}/${this.length}`;
  }
}

const DECIMAL = /^(?:0|[1-9]\d{0,2})$/;
const WORD = /^[0-9a-fA-F]{1,4}$/;
const LONGEST_ADDRESS = 45;
const MAPPED = 0xffffn;

function parseIpv4(text: string): bigint | undefined {
  const parts = text.split('.');
  if (parts.length !== 4 || parts.some((part) => !DECIMAL.test(part) || Number(part) > 255)) return undefined;
  return parts.reduce((value, part) => (value << 8n) | BigInt(part), 0n);
}

function parseIpv6(text: string): bigint | undefined {
  const [, head = '', tail] = /^(.*:)(\d[\d.]*\.\d+)$/.exec(text) ?? [];
  const last = tail === undefined ? undefined : parseIpv4(tail);
  if (tail !== undefined && last === undefined) return undefined;
  const whole = last === undefined ? text : `${head}${(last >> 16n).toString(16)}:${(last & MAPPED).toString(16)}`;
  const halves = whole.split('::');
  if (halves.length > 2) return undefined;
  const [left = [], right = []] = halves.map((half) => (half === '' ? [] : half.split(':')));
  const missing = 8 - left.length - right.length;
  const isShortened = halves.length === 2;
  if (isShortened ? missing < 1 : missing !== 0) return undefined;
  const words = [...left, ...Array.from({ length: missing }, () => '0'), ...right];
  if (words.some((word) => !WORD.test(word))) return undefined;
  return words.reduce((value, word) => (value << 16n) | BigInt(`0x${word}`), 0n);
}

/** Returns the address. Addresses with a zone and IPv4 addresses in IPv6 form are not valid, as in Kubernetes. */
export function parseIp(text: string): SelectorIp | undefined {
  if (text.length > LONGEST_ADDRESS) return undefined;
  const isIpv6 = text.includes(':');
  const value = isIpv6 ? parseIpv6(text) : parseIpv4(text);
  if (value === undefined || (isIpv6 && value >> 32n === MAPPED)) return undefined;
  return new SelectorIp(isIpv6 ? 128 : 32, value);
}

export function parseCidr(text: string): SelectorCidr | undefined {
  const [address = '', length = '', ...rest] = text.split('/');
  const ip = parseIp(address);
  if (ip === undefined || rest.length > 0 || !DECIMAL.test(length) || Number(length) > ip.bits) return undefined;
  return new SelectorCidr(ip, Number(length));
}

function readText<T>(parse: (text: string) => T | undefined, text: string, kind: string): T {
  chargeText(text);
  const value = parse(text);
  if (value === undefined) throw new RangeError(`the text is not ${kind}`);
  return value;
}

const ipOf = (text: string): SelectorIp => readText(parseIp, text, 'an IP address');
const cidrOf = (text: string): SelectorCidr => readText(parseCidr, text, 'a CIDR range');

/** Returns true if an address is in one of the ranges. */
const isInAny = (ip: SelectorIp, ...ranges: readonly string[]): boolean =>
  ranges.some((range) => ip.isIn(parseCidr(range) as SelectorCidr));
const isLoopback = (ip: SelectorIp): boolean => isInAny(ip, '127.0.0.0/8', '::1/128');
const isUnspecified = ({ value }: SelectorIp): boolean => value === 0n;
const isMulticast = (ip: SelectorIp): boolean => isInAny(ip, '224.0.0.0/4', 'ff00::/8');
const isLinkLocalUnicast = (ip: SelectorIp): boolean => isInAny(ip, '169.254.0.0/16', 'fe80::/10');
const isLinkLocalMulticast = (ip: SelectorIp): boolean =>
  isInAny(ip, '224.0.0.0/24') || (ip.bits === 128 && ip.prefix(8) === 0xffn && (ip.prefix(16) & 0xfn) === 2n);
const isGlobalUnicast = (ip: SelectorIp): boolean =>
  ![isUnspecified, isLoopback, isMulticast, isLinkLocalUnicast].some((test) => test(ip)) &&
  !isInAny(ip, '255.255.255.255/32');

const containsCidr = (range: SelectorCidr, other: SelectorCidr): boolean =>
  other.length >= range.length && other.address.isIn(range);

export const registerAddresses = (environment: Environment): Environment =>
  environment
    .registerType('IP', { ctor: SelectorIp })
    .registerType('CIDR', { ctor: SelectorCidr })
    .registerFunction('ip(string): IP', ipOf)
    .registerFunction('isIP(string): bool', (text: string) => parseIp(text) !== undefined)
    .registerFunction('ip_isCanonical(string): bool', (text: string) => ipOf(text).toString() === text)
    .registerFunction('string(IP): string', (ip: SelectorIp) => ip.toString())
    .registerFunction('IP.family(): int', ({ bits }: SelectorIp) => (bits === 32 ? 4n : 6n))
    .registerFunction('IP.isUnspecified(): bool', isUnspecified)
    .registerFunction('IP.isLoopback(): bool', isLoopback)
    .registerFunction('IP.isLinkLocalMulticast(): bool', isLinkLocalMulticast)
    .registerFunction('IP.isLinkLocalUnicast(): bool', isLinkLocalUnicast)
    .registerFunction('IP.isGlobalUnicast(): bool', isGlobalUnicast)
    .registerOperator('IP == IP', (a: SelectorIp, b: SelectorIp) => a.bits === b.bits && a.value === b.value)
    .registerFunction('cidr(string): CIDR', cidrOf)
    .registerFunction('isCIDR(string): bool', (text: string) => parseCidr(text) !== undefined)
    .registerFunction('string(CIDR): string', (range: SelectorCidr) => range.toString())
    .registerFunction('CIDR.containsIP(IP): bool', (range: SelectorCidr, ip: SelectorIp) => ip.isIn(range))
    .registerFunction('CIDR.containsIP(string): bool', (range: SelectorCidr, text: string) => ipOf(text).isIn(range))
    .registerFunction('CIDR.containsCIDR(CIDR): bool', containsCidr)
    .registerFunction('CIDR.containsCIDR(string): bool', (range: SelectorCidr, text: string) =>
      containsCidr(range, cidrOf(text)),
    )
    .registerFunction('CIDR.ip(): IP', ({ address }: SelectorCidr) => address)
    .registerFunction('CIDR.masked(): CIDR', ({ masked }: SelectorCidr) => masked)
    .registerFunction('CIDR.prefixLength(): int', ({ length }: SelectorCidr) => BigInt(length))
    .registerOperator('CIDR == CIDR', (a: SelectorCidr, b: SelectorCidr) => a.toString() === b.toString());

/** Absolute URI, or absolute path, as a value of an expression. */
class SelectorUrl {
  readonly text: string;
  readonly scheme: string;
  readonly host: string;
  readonly path: string;
  readonly query: string;

  constructor(text: string, [scheme, host, path, query]: readonly [string, string, string, string]) {
    this.text = text;
    this.scheme = scheme;
    this.host = host;
    this.path = path;
    this.query = query;
  }

  get #parts(): readonly [hostname: string, port: string] {
    const [, hostname = this.host, port = ''] = /^(.*?)(?::(\d*))?$/.exec(this.host) ?? [];
    return this.host.endsWith(']') ? [this.host, ''] : [hostname, port];
  }

  get hostname(): string {
    return this.#parts[0].replace(/^\[(.*)\]$/, '$1');
  }

  get port(): string {
    return this.#parts[1];
  }
}

const SCHEME = /^[a-zA-Z][a-zA-Z0-9+.-]*$/;
const HOST = /^(?:\[[0-9a-fA-F:.]+(?:%25[\w.~-]+)?\]|[^\s[\]:<>"^`{|}\\]*)(?::\d*)?$/;
/** Spaces, control characters and incomplete escapes. */
const NOT_IN_URL = /[\p{Cc} ]|%(?![0-9a-fA-F]{2})/u;

function parseUrl(text: string): SelectorUrl | undefined {
  if (NOT_IN_URL.test(text)) return undefined;
  const [whole = '', query = ''] = text.split(/\?(.*)/s);
  if (whole.startsWith('/')) return new SelectorUrl(text, ['', '', whole, query]);
  const [scheme = '', rest] = whole.split(/:\/\/(.*)/s);
  if (rest === undefined || !SCHEME.test(scheme)) return undefined;
  const [authority = ''] = rest.split('/', 1);
  const path = rest.slice(authority.length);
  const host = authority.slice(authority.lastIndexOf('@') + 1);
  return HOST.test(host) ? new SelectorUrl(text, [scheme.toLowerCase(), host, path, query]) : undefined;
}

const decodeText = (text: string): string => tryRun(() => decodeURIComponent(text.replaceAll('+', ' '))) ?? text;

function queryOf({ query }: SelectorUrl): Map<string, string[]> {
  chargeText(query);
  const values = new Map<string, string[]>();
  for (const pair of query.split('&')) {
    if (pair === '') continue;
    const [name = '', value = ''] = pair.split(/=(.*)/s).map(decodeText);
    values.set(name, [...(values.get(name) ?? []), value]);
  }
  return values;
}

export const registerUrls = (environment: Environment): Environment =>
  environment
    .registerType('URL', { ctor: SelectorUrl })
    .registerFunction('url(string): URL', (text: string) => readText(parseUrl, text, 'a URL'))
    .registerFunction('isURL(string): bool', (text: string) => parseUrl(text) !== undefined)
    .registerFunction('URL.getScheme(): string', ({ scheme }: SelectorUrl) => scheme)
    .registerFunction('URL.getHost(): string', ({ host }: SelectorUrl) => host)
    .registerFunction('URL.getHostname(): string', ({ hostname }: SelectorUrl) => hostname)
    .registerFunction('URL.getPort(): string', ({ port }: SelectorUrl) => port)
    .registerFunction('URL.getEscapedPath(): string', ({ path }: SelectorUrl) => path)
    .registerFunction('URL.getQuery(): map<string, list<string>>', queryOf)
    .registerOperator('URL == URL', (a: SelectorUrl, b: SelectorUrl) => a.text === b.text);
