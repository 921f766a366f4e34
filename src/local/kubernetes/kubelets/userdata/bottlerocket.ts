/** Bottlerocket's settings. */
import { parse } from 'smol-toml';
import type { Taint } from '../../../../api/kubernetes.ts';
import { type KubeletConfig, stringMap, taintOf, wholeNumber } from './config.ts';

type Table = Readonly<Record<string, unknown>>;

export const isBottlerocket = (text: string): boolean => /^[ \t]*\[settings[.\]]/m.test(text);

const tableOf = (value: unknown): Table =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Table) : {};

/** Each key of `node-taints` has one `value:Effect` or a list of them. */
function taintsOf(table: Table): Taint[] {
  return Object.entries(table).flatMap(([key, written]) =>
    (Array.isArray(written) ? written : [written]).map((one) => {
      const text = String(one);
      const colon = text.lastIndexOf(':');
      return taintOf(key, text.slice(0, Math.max(0, colon)), text.slice(colon + 1), `${key}=${text}`);
    }),
  );
}

/** @throws Error if the text is not valid TOML or a taint is malformed */
export function bottlerocket(text: string): KubeletConfig {
  const settings = tableOf(parse(text).settings);
  const kubernetes = tableOf(settings.kubernetes);
  const maxPods = wholeNumber(kubernetes['max-pods']);
  const [name, endpoint] = [kubernetes['cluster-name'], kubernetes['api-server']];
  return {
    ...(typeof name === 'string' ? { clusterName: name } : {}),
    ...(typeof endpoint === 'string' ? { endpoint } : {}),
    labels: stringMap(kubernetes['node-labels']),
    taints: taintsOf(tableOf(kubernetes['node-taints'])),
    kubeReserved: stringMap(kubernetes['kube-reserved']),
    systemReserved: stringMap(kubernetes['system-reserved']),
    evictionHard: stringMap(kubernetes['eviction-hard']),
    raid0: JSON.stringify(settings['bootstrap-commands'] ?? '').includes('ephemeral-storage'),
    dataDevice: '/dev/xvdb',
    ...(maxPods === undefined ? {} : { maxPods }),
  };
}
