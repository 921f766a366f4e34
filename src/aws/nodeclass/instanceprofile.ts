/** Resolves the instance profile of a NodeClass: the profile of the spec, or a profile that is created for its role. */
import { randomUUID } from 'node:crypto';
import { type EC2NodeClass, uidOf } from '#api/objects';
import { causeOf } from '#cloud';
import { messageOf, quoted } from '#lib';
import { type Clock, TtlCache } from '#lib/clock';
import { type InstanceProfiles, RoleNotFound } from '../instanceprofiles/instanceprofiles.ts';
import { classPath, profileName, profileTags, roleName, type Scope } from '../instanceprofiles/names.ts';
import { type NodeClassStep, type StepTools, unresolvedResult, withStatus } from './step.ts';

const TYPE = 'InstanceProfileReady';
/** Time for which a created profile is used even if the write of its name to the status failed. */
const RECREATION_TTL_MS = 60_000;

export function instanceProfileStep(
  tools: StepTools,
  profiles: InstanceProfiles,
  scope: Scope,
  clock: Clock,
): NodeClassStep {
  const made = new TtlCache<string, string>(clock, RECREATION_TTL_MS);

  async function make(nodeClass: EC2NodeClass, role: string): Promise<string> {
    const name = profileName(scope, nodeClass.metadata.name, randomUUID());
    const path = classPath(scope, uidOf(nodeClass));
    try {
      await profiles.create(name, role, path, profileTags(scope, nodeClass));
    } catch (error) {
      // Best effort. A profile that remains is unused and is garbage collected later.
      await profiles.delete(name).catch(() => undefined);
      throw new Error(`creating instance profile, ${messageOf(error)}`, { cause: error });
    }
    made.set(`${role}/${nodeClass.metadata.uid}`, name);
    profiles.protect(name);
    return name;
  }

  async function profileFor(nodeClass: EC2NodeClass): Promise<string> {
    const { role, instanceProfile } = nodeClass.spec;
    if (instanceProfile !== undefined) return instanceProfile;
    if (role === undefined) throw new Error('neither role nor instanceProfile is set');
    const current = made.get(`${role}/${nodeClass.metadata.uid}`) ?? nodeClass.status?.instanceProfile;
    // The role of a profile is never changed, because nodes that are starting with the profile would receive the new
    // role.
    const currentRole = current === undefined ? undefined : (await profiles.get(current))?.roles[0];
    return current !== undefined && currentRole === roleName(role) ? current : make(nodeClass, role);
  }

  return async (nodeClass) => {
    const before = nodeClass.status?.instanceProfile;
    try {
      const name = await profileFor(nodeClass);
      if (before !== undefined && before !== name) profiles.protect(before);
      const named = withStatus(nodeClass, { instanceProfile: name });
      return { nodeClass: tools.setCondition(named, { type: TYPE, status: 'True', message: '' }) };
    } catch (error) {
      if (causeOf(error, RoleNotFound) === undefined) return unresolvedResult(tools, nodeClass, TYPE, error as Error);
      const message = `role ${quoted(nodeClass.spec.role ?? '')} does not exist; create it, or correct spec.role`;
      const refused = { type: TYPE, status: 'False', reason: 'RoleNotFound', message } as const;
      return { nodeClass: tools.setCondition(nodeClass, refused), error };
    }
  };
}
