/** Detects clients on this machine, including `kubectl port-forward`, which connects within the pod. */
import { BlockList, isIP, isIPv4 } from 'node:net';

const LOOPBACK = new BlockList();
LOOPBACK.addSubnet('127.0.0.0', 8, 'ipv4');
LOOPBACK.addAddress('::1', 'ipv6');

/** Returns true for a loopback address. IPv4 addresses may have the IPv6 form `::ffff:127.0.0.1`. */
export const isLoopback = (address: string | undefined): boolean =>
  address !== undefined && LOOPBACK.check(address, isIPv4(address) ? 'ipv4' : 'ipv6');

/** Addresses of a socket. They are undefined if the socket is closed. */
interface Ends {
  readonly remoteAddress?: string | undefined;
  readonly localAddress?: string | undefined;
}

/**
 * Returns true if both ends of a connection have loopback addresses. The remote address alone is not sufficient: the proxy
 * of a service mesh forwards requests from outside with its own loopback address, but to the address of the pod.
 */
export const isFromLoopback = ({ remoteAddress, localAddress }: Ends): boolean =>
  isLoopback(remoteAddress) && isLoopback(localAddress);

/** Parses the addresses to listen on in settings. */
export interface Address {
  /** IP address; IPv6 addresses have no brackets. */
  readonly host: string;
  /** 0 selects a free port. */
  readonly port: number;
}

/**
 * Parses `127.0.0.1:8090`, `[::1]:8090` or `localhost:8090`. `localhost` stands for 127.0.0.1. Returns undefined if the text
 * is not a valid address.
 */
export function parseAddress(text: string): Address | undefined {
  const [, name = '', digits = ''] = /^(.*):(\d{1,5})$/.exec(text.trim()) ?? [];
  const host = name === 'localhost' ? '127.0.0.1' : name.replace(/^\[(.*)\]$/, '$1');
  const port = Number(digits);
  if (digits === '' || isIP(host) === 0 || port > 65_535) return undefined;
  return host.includes(':') === name.startsWith('[') ? { host, port } : undefined;
}
