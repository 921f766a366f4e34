import type { Pod } from '../../../api/kubernetes.ts';
import type { Filter } from './view.ts';

interface HostPort {
  readonly ip: string;
  readonly port: number;
  readonly protocol: string;
}

const ANY = new Set(['', '0.0.0.0', '::']);

/** Returns the host ports of a pod's containers and sidecars. */
export function hostPorts(pod: Pod): readonly HostPort[] {
  const sidecars = (pod.spec.initContainers ?? []).filter((container) => container.restartPolicy === 'Always');
  return [...pod.spec.containers, ...sidecars].flatMap((container) =>
    (container.ports ?? []).flatMap(({ hostPort, containerPort, hostIP = '', protocol = 'TCP' }) => {
      const port = hostPort || (pod.spec.hostNetwork ? containerPort : undefined);
      return port ? [{ ip: hostIP, port, protocol }] : [];
    }),
  );
}

const clash = (a: HostPort, b: HostPort): boolean =>
  a.port === b.port && a.protocol === b.protocol && (a.ip === b.ip || ANY.has(a.ip) || ANY.has(b.ip));

/** Host ports must not be used by another pod on the node. */
export const nodePorts: Filter = (pod) => {
  const wanted = hostPorts(pod);
  if (wanted.length === 0) return undefined;
  return ({ pods }) => {
    const taken = pods.flatMap(hostPorts);
    return wanted.some((one) => taken.some((other) => clash(one, other)))
      ? ["node(s) didn't have free ports for the requested pod ports"]
      : undefined;
  };
};
