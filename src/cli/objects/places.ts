/** Finds the region and the zones of a cluster from its manifests. */
import { type EC2NodeClass, REGION_LABEL, ZONE_ID_LABEL, ZONE_LABEL } from '#api/objects';
import type { Manifest } from './read.ts';

export interface Zone {
  readonly name: string;
  readonly id: string;
}

export interface Places {
  readonly region: string;
  /** Sorted by name. */
  readonly zones: readonly Zone[];
}

/** Region of the local world, used for manifests that do not contain a zone. */
export const DEFAULT_REGION = 'us-west-2';
const DEFAULT_ZONES = ['a', 'b', 'c'].map((letter, index) => ({
  name: `${DEFAULT_REGION}${letter}`,
  id: `usw2-az${index + 1}`,
}));

/** Returns the zones of the subnets in the NodeClass's status. Empty until an operator has processed the NodeClass. */
export const zonesOfClass = ({ status }: EC2NodeClass): readonly Zone[] =>
  (status?.subnets ?? []).map(({ zone, zoneID }) => ({ name: zone, id: zoneID ?? zone }));

/** Finds region and zones in the subnets of NodeClasses and the labels of Nodes. */
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
  // Nodes may not cover all zones of the region
  if (!isSurveyed && region === DEFAULT_REGION) DEFAULT_ZONES.forEach(add);
  return { region, zones: [...found.values()].sort((a, b) => (a.name < b.name ? -1 : 1)) };
}

/** Returns the region of a zone: `eu-central-1` for `eu-central-1a`, and `us-west-2` for `us-west-2-lax-1a`. */
const regionIn = (zone: string): string => /^[a-z]+(?:-[a-z]+)+-\d+/.exec(zone)?.[0] ?? zone;
