/** Who is on this machine, or comes through `kubectl port-forward`, which connects within the pod. */
import { BlockList, isIPv4 } from 'node:net';

const LOOPBACK = new BlockList();
LOOPBACK.addSubnet('127.0.0.0', 8, 'ipv4');
LOOPBACK.addAddress('::1', 'ipv6');

/** IPv4 addresses may come in the form of IPv6, as `::ffff:127.0.0.1`. */
export const isLoopback = (address: string | undefined): boolean =>
  address !== undefined && LOOPBACK.check(address, isIPv4(address) ? 'ipv4' : 'ipv6');

/** Of a socket; a closed one has no addresses any more. */
interface Ends {
  readonly remoteAddress?: string | undefined;
  readonly localAddress?: string | undefined;
}

/**
 * Both ends count: the proxies of service meshes hand on what comes from outside from a loopback address of their own,
 * but to the address of the pod.
 */
export const isFromLoopback = ({ remoteAddress, localAddress }: Ends): boolean =>
  isLoopback(remoteAddress) && isLoopback(localAddress);
