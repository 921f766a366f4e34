/** Where the cluster of some manifests is. */
import type { EC2NodeClass } from '../../api/ec2-nodeclass.ts';
import { REGION_LABEL, ZONE_ID_LABEL, ZONE_LABEL } from '../../api/labels.ts';
import type { Manifest } from './read.ts';

export interface Zone {
  readonly name: string;
  readonly id: string;
}

export interface Places {
  readonly region: string;
  /** In name order. */
  readonly zones: readonly Zone[];
}

/** Of the local world: for manifests that name no zone. */
export const DEFAULT_REGION = 'us-west-2';
const DEFAULT_ZONES = ['a', 'b', 'c'].map((letter, index) => ({
  name: `${DEFAULT_REGION}${letter}`,
  id: `usw2-az${index + 1}`,
}));

/** Zones of the subnets that a NodeClass has found; none before an operator has seen it. */
export const zonesOfClass = ({ status }: EC2NodeClass): readonly Zone[] =>
  (status?.subnets ?? []).map(({ zone, zoneID }) => ({ name: zone, id: zoneID ?? zone }));

/** By the subnets of NodeClasses and the labels of Nodes. */
export function placesOf(manifests: readonly Manifest[]): Places {
  const found = new Map<string, Zone>();
  let region: string | undefined;
  let isSurveyed = false;
  const add = (zone: Zone): void => {
    if (!found.has(zone.name)) found.set(zone.name, zone);
  };
  for (const { object } of manifests) {
    if (object.kind === 'EC2NodeClass') {
      const own = zonesOfClass(object as EC2NodeClass);
      own.forEach(add);
      isSurveyed ||= own.length > 0;
    }
    if (object.kind !== 'Node') continue;
    const { [ZONE_LABEL]: name, [ZONE_ID_LABEL]: id, [REGION_LABEL]: label } = object.metadata.labels ?? {};
    region ??= label;
    if (name !== undefined) add({ name, id: id ?? name });
  }
  const [first] = found.keys();
  region ??= first === undefined ? DEFAULT_REGION : regionIn(first);
  // Nodes show zones that there are, but not all of them.
  if (!isSurveyed && region === DEFAULT_REGION) DEFAULT_ZONES.forEach(add);
  return { region, zones: [...found.values()].sort((a, b) => (a.name < b.name ? -1 : 1)) };
}

/** `eu-central-1` in `eu-central-1a`, and `us-west-2` in `us-west-2-lax-1a`. */
const regionIn = (zone: string): string => /^[a-z]+(?:-[a-z]+)+-\d+/.exec(zone)?.[0] ?? zone;
