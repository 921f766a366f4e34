/** URLs of the Common Expression Language, as Kubernetes has them: `url('…')` reads them the way Go's net/url does. */
import type { Environment } from '@marcbachmann/cel-js';
import { quoted } from '../../../lib/quoted.ts';

/** The value of `url('…')`. */
class CelUrl {
  readonly scheme: string;
  /** With its port, IPv6 addresses in brackets. */
  readonly host: string;
  readonly path: string;
  readonly query: string;

  constructor(scheme: string, host: string, path: string, query: string) {
    this.scheme = scheme;
    this.host = host;
    this.path = path;
    this.query = query;
  }

  get port(): string {
    return /:(\d*)$/.exec(this.host.replace(/^\[.*\]/, ''))?.[1] ?? '';
  }

  get hostname(): string {
    const [whole, address] = /^\[(.*)\]/.exec(this.host) ?? [];
    return whole === undefined ? this.host.replace(/:\d*$/, '') : (address ?? '');
  }
}

const SCHEME = /^([a-zA-Z][a-zA-Z0-9+.-]*):/;
const USER = /^[\w.:~!$&'()*+,;=%@-]*$/;
const HOST = /^[\w.~!$&'()*+,;=:[\]<>"%\u0080-\u{10ffff}-]*$/u;
const WRONG_ESCAPE = /%(?![0-9a-fA-F]{2})/;
/** What needs no escape in a path. */
const PLAIN_PATH = /^[\w.~!$&'()*+,;=:@[\]%/-]*$/;

const unescaped = (text: string): string | undefined => {
  if (WRONG_ESCAPE.test(text)) return undefined;
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined; // bytes that are no UTF-8
  }
};

/** @throws RangeError that says what is wrong */
function parseUrl(text: string): CelUrl {
  const refused = (why: string): RangeError =>
    new RangeError(`URL parse error during conversion from string: parse ${quoted(text)}: ${why}`);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: that is what is looked for
  if (/[\u0000-\u001f\u007f]/.test(text)) throw refused('net/url: invalid control character in URL');
  if (text === '') throw refused('empty url');
  if (text.startsWith(':')) throw refused('missing protocol scheme');
  const [prefix = '', scheme = ''] = SCHEME.exec(text) ?? [];
  const [beforeFragment = ''] = text.slice(prefix.length).split('#', 1);
  const mark = beforeFragment.indexOf('?');
  const rest = mark < 0 ? beforeFragment : beforeFragment.slice(0, mark);
  const query = mark < 0 ? '' : beforeFragment.slice(mark + 1);
  if (!rest.startsWith('/')) {
    // such as mailto:somebody: what follows the scheme is no path
    if (scheme !== '' || rest === '*') return new CelUrl(scheme.toLowerCase(), '', '', query);
    throw refused('invalid URI for request');
  }
  const hasHost = scheme !== '' && rest.startsWith('//');
  const end = hasHost ? rest.indexOf('/', 2) : 0;
  const authority = hasHost ? rest.slice(2, end < 0 ? undefined : end) : '';
  const path = end < 0 ? '' : rest.slice(end);
  if (WRONG_ESCAPE.test(path))
    throw refused(`invalid URL escape ${quoted(/%.{0,2}/.exec(path.slice(path.search(WRONG_ESCAPE)))?.[0] ?? '')}`);
  return new CelUrl(scheme.toLowerCase(), hostOf(authority, refused), path, query);
}

function hostOf(authority: string, refused: (why: string) => RangeError): string {
  const at = authority.lastIndexOf('@');
  if (at >= 0 && !USER.test(authority.slice(0, at))) throw refused('net/url: invalid userinfo');
  const host = authority.slice(at + 1);
  const bracket = host.lastIndexOf(']');
  if (host.startsWith('[') && bracket < 0) throw refused("missing ']' in host");
  const colon = host.startsWith('[') ? bracket + 1 : host.lastIndexOf(':');
  const port = colon < 0 ? '' : host.slice(colon);
  if (port !== '' && !/^:\d*$/.test(port)) throw refused(`invalid port ${quoted(port)} after host`);
  const wrong = HOST.test(host) ? undefined : [...host].find((character) => !HOST.test(character));
  if (wrong !== undefined) throw refused(`invalid character ${quoted(wrong)} in host name`);
  return host;
}

function escapedPath({ path }: CelUrl): string {
  if (PLAIN_PATH.test(path)) return path;
  const plain = unescaped(path) ?? path;
  return encodeURIComponent(plain).replace(/%(2F|24|26|2B|2C|3A|3B|3D|40)/g, (code) => decodeURIComponent(code));
}

function queryOf({ query }: CelUrl): Map<string, string[]> {
  const found = new Map<string, string[]>();
  for (const part of query.split('&')) {
    if (part === '' || part.includes(';')) continue;
    const equals = part.indexOf('=');
    const [key, value] = equals < 0 ? [part, ''] : [part.slice(0, equals), part.slice(equals + 1)];
    const [name, text] = [key, value].map((each) => unescaped(each.replaceAll('+', ' ')));
    if (name === undefined || text === undefined) continue;
    found.set(name, [...(found.get(name) ?? []), text]);
  }
  return found;
}

export const isUrl = (text: string): boolean => {
  try {
    parseUrl(text);
    return true;
  } catch {
    return false;
  }
};

export function registerUrls(environment: Environment): void {
  environment
    .registerType('kubernetes.URL', { ctor: CelUrl, fields: {} })
    .registerFunction('url(string): kubernetes.URL', parseUrl)
    .registerFunction('isURL(string): bool', isUrl)
    .registerFunction('kubernetes.URL.getScheme(): string', ({ scheme }: CelUrl) => scheme)
    .registerFunction('kubernetes.URL.getHost(): string', ({ host }: CelUrl) => host)
    .registerFunction('kubernetes.URL.getHostname(): string', ({ hostname }: CelUrl) => hostname)
    .registerFunction('kubernetes.URL.getPort(): string', ({ port }: CelUrl) => port)
    .registerFunction('kubernetes.URL.getEscapedPath(): string', escapedPath)
    .registerFunction('kubernetes.URL.getQuery(): map<string, list<string>>', queryOf);
}
