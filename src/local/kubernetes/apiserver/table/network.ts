/** The columns of services and what leads to them. */
import { type ApiObject, at, list, record, records, text } from '../json.ts';
import { AGE, type Column, column, field, NAME, optional, orNone, wide } from '../resources/columns.ts';
import { selectorText } from '../selectors.ts';

/** How many of a list a cell shows. */
const SHOWN = 3;

/** The first few, and how many more there are. */
function firstFew(words: readonly string[], none: string): string {
  if (words.length === 0) return none;
  const more = words.length - SHOWN;
  return `${words.slice(0, SHOWN).join(',')}${more > 0 ? ` + ${more} more...` : ''}`;
}

const servicePorts = (service: ApiObject): string =>
  orNone(
    records(at(service, 'spec', 'ports'))
      .map(
        ({ port, nodePort, protocol }) => `${String(port)}${nodePort ? `:${String(nodePort)}` : ''}/${text(protocol)}`,
      )
      .join(','),
  );

function externalAddress(service: ApiObject): string {
  if (at(service, 'spec', 'type') === 'ExternalName') return text(at(service, 'spec', 'externalName'));
  return orNone(list(at(service, 'spec', 'externalIPs')).join(','));
}

function endpoints(object: ApiObject): string {
  const all = records(object.subsets).flatMap((subset) => {
    const addresses = records(subset.addresses).map(({ ip }) => text(ip));
    const ports = records(subset.ports);
    if (ports.length === 0) return addresses;
    return ports.flatMap(({ port }) => addresses.map((ip) => `${ip}:${String(port)}`));
  });
  return firstFew(all, '<none>');
}

const sliceEndpoints = (slice: ApiObject): string =>
  firstFew(
    records(slice.endpoints).flatMap((endpoint) => list(endpoint.addresses).map(text)),
    '<unset>',
  );

const slicePorts = (slice: ApiObject): string =>
  firstFew(
    records(slice.ports).map(({ port }) => (port === undefined ? '*' : String(port))),
    '<unset>',
  );

const hosts = (ingress: ApiObject): string => {
  const named = records(at(ingress, 'spec', 'rules')).flatMap(({ host }) => text(host) || []);
  return firstFew(named, '*');
};

const address = (ingress: ApiObject): string =>
  records(at(ingress, 'status', 'loadBalancer', 'ingress'))
    .map(({ ip, hostname }) => text(ip) || text(hostname))
    .join(',');

export const NETWORK_COLUMNS: Readonly<Record<string, readonly Column[]>> = {
  services: [
    NAME,
    field('Type', 'spec', 'type'),
    optional('Cluster-IP', 'spec', 'clusterIP'),
    column('External-IP', externalAddress),
    column('Port(s)', servicePorts),
    AGE,
    wide('Selector', (service) => orNone(selectorText({ matchLabels: at(service, 'spec', 'selector') }))),
  ],
  endpoints: [NAME, column('Endpoints', endpoints), AGE],
  'endpointslices.discovery.k8s.io': [
    NAME,
    field('AddressType', 'addressType'),
    column('Ports', slicePorts),
    column('Endpoints', sliceEndpoints),
    AGE,
  ],
  'networkpolicies.networking.k8s.io': [
    NAME,
    column('Pod-Selector', (policy) => orNone(selectorText(at(policy, 'spec', 'podSelector')))),
    AGE,
  ],
  'ingressclasses.networking.k8s.io': [
    NAME,
    field('Controller', 'spec', 'controller'),
    column('Parameters', (one) => {
      const { kind, apiGroup, name } = record(at(one, 'spec', 'parameters'));
      if (kind === undefined) return '<none>';
      return `${text(kind)}${apiGroup === undefined ? '' : `.${text(apiGroup)}`}/${text(name)}`;
    }),
    AGE,
  ],
  'ingresses.networking.k8s.io': [
    NAME,
    optional('Class', 'spec', 'ingressClassName'),
    column('Hosts', hosts),
    column('Address', address),
    column('Ports', (ingress) => (records(at(ingress, 'spec', 'tls')).length > 0 ? '80, 443' : '80')),
    AGE,
  ],
};
