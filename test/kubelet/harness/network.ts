/**
 * Network of the cluster. The control plane, AWS and the tests are in the network namespace of the run; every node has
 * a namespace of its own with a bridge for its pods.
 */
import { run } from './commands.ts';

/** Address of the control plane. */
export const CONTROL_PLANE = '10.77.0.1';
/** Address of the Service `kubernetes`. The API server listens on it, so no proxy for services is necessary. */
const KUBERNETES_SERVICE = '172.20.0.1';
/** Address of the agent of EKS Pod Identity on every node. */
export const POD_IDENTITY_AGENT = '169.254.170.23';

export const nodeAddress = (number: number): string => `10.77.0.1${number}`;
export const podNetwork = (number: number): string => `10.78.${number}.0/24`;
export const namespaceOf = (number: number): string => `n${number}`;

const ip = (...argv: readonly string[]): Promise<string> => run('ip', argv);

/** Prefixes a command that runs in the namespace of a node. */
export const onNode = (number: number): readonly string[] => [`--net=/run/netns/${namespaceOf(number)}`];

export async function createNetwork(nodes: readonly number[]): Promise<void> {
  await ip('link', 'set', 'lo', 'up');
  await ip('link', 'add', 'br0', 'type', 'bridge');
  await ip('addr', 'add', `${CONTROL_PLANE}/24`, 'dev', 'br0');
  await ip('link', 'set', 'br0', 'up');
  for (const address of [KUBERNETES_SERVICE, POD_IDENTITY_AGENT]) await ip('addr', 'add', `${address}/32`, 'dev', 'lo');
  for (const number of nodes) await addNode(number);
  await run('sysctl', ['-qw', 'net.ipv4.ip_forward=1']);
}

async function addNode(number: number): Promise<void> {
  const name = namespaceOf(number);
  const link = `to-${name}`;
  await ip('netns', 'add', name);
  await ip('link', 'add', link, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', name);
  await ip('link', 'set', link, 'master', 'br0', 'up');
  await ip('-n', name, 'link', 'set', 'lo', 'up');
  await ip('-n', name, 'addr', 'add', `${nodeAddress(number)}/24`, 'dev', 'eth0');
  await ip('-n', name, 'link', 'set', 'eth0', 'up');
  await ip('-n', name, 'route', 'add', 'default', 'via', CONTROL_PLANE);
  await ip('route', 'add', podNetwork(number), 'via', nodeAddress(number));
  await run('nsenter', [...onNode(number), 'sysctl', '-qw', 'net.ipv4.ip_forward=1']);
}
