/** The image of a NodeClass that an instance type is launched with. */
import type { AmiStatus } from '#api/objects';
import { type InstanceType, Requirements, requirementsOf } from '#engine/model';

const compiled = new WeakMap<AmiStatus, Requirements>();
function requirementsOfAmi(ami: AmiStatus): Requirements {
  let requirements = compiled.get(ami);
  if (requirements === undefined) {
    requirements = Requirements.fromRequirements(ami.requirements);
    compiled.set(ami, requirements);
  }
  return requirements;
}

/** Returns the image for launches of an instance type: the first compatible image of the status. */
export const amiForType = (amis: readonly AmiStatus[], type: InstanceType): AmiStatus | undefined =>
  amis.find((ami) => requirementsOf(type).compatible(requirementsOfAmi(ami)));
