/** Instance profiles, which contain the IAM role of nodes. */
import {
  AddRoleToInstanceProfileCommand,
  CreateInstanceProfileCommand,
  DeleteInstanceProfileCommand,
  GetInstanceProfileCommand,
  type IAMClient,
  paginateListInstanceProfiles,
  RemoveRoleFromInstanceProfileCommand,
} from '@aws-sdk/client-iam';
import type { StringMap } from '#api/objects';
import { messageOf } from '#lib';
import { type Clock, TtlCache } from '#lib/clock';
import { codeOf, isNotFound } from '../errors.ts';
import { isOfAnotherCluster } from '../identity.ts';
import { pagesOf } from '../pages.ts';
import { tagList, tagMap } from '../tags.ts';
import { roleName } from './names.ts';

const PROFILE_TTL_MS = 15 * 60_000;
const MISSING_ROLE_TTL_MS = 60_000;
const PROTECTION_TTL_MS = 3_600_000;

interface InstanceProfile {
  readonly name: string;
  readonly roles: readonly string[];
  readonly tags: StringMap;
}

/** Instance profile as lists return it, without tags. */
export interface ListedProfile {
  readonly name: string;
  readonly path: string;
}

/** The role does not exist in IAM. */
export class RoleNotFound extends Error {}

export class InstanceProfiles {
  readonly #iam: IAMClient;
  readonly #clusterUid: string | undefined;
  readonly #profiles: TtlCache<string, InstanceProfile>;
  readonly #missingRoles: TtlCache<string, string>;
  /** Profiles that instances may currently be starting with. */
  readonly #protected: TtlCache<string, true>;

  constructor(iam: IAMClient, clock: Clock, clusterUid?: string) {
    this.#iam = iam;
    this.#clusterUid = clusterUid;
    this.#profiles = new TtlCache(clock, PROFILE_TTL_MS);
    this.#missingRoles = new TtlCache(clock, MISSING_ROLE_TTL_MS);
    this.#protected = new TtlCache(clock, PROTECTION_TTL_MS);
  }

  protect(name: string): void {
    if (name !== '') this.#protected.set(name, true);
  }

  isProtected(name: string): boolean {
    return this.#protected.has(name);
  }

  /** Returns undefined if the profile does not exist. */
  async get(name: string): Promise<InstanceProfile | undefined> {
    const known = this.#profiles.get(name);
    if (known !== undefined) return known;
    const profile = await this.read(name);
    if (profile !== undefined) this.#profiles.set(name, profile);
    return profile;
  }

  /** Reads the profile without the cache. */
  async read(name: string): Promise<InstanceProfile | undefined> {
    try {
      const answer = await this.#iam.send(new GetInstanceProfileCommand({ InstanceProfileName: name }));
      const { Roles = [], Tags } = answer.InstanceProfile ?? {};
      return { name, roles: Roles.map((role) => role.RoleName ?? ''), tags: tagMap(Tags) };
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw new Error(`getting instance profile ${name}, ${messageOf(error)}`, { cause: error });
    }
  }

  /**
   * Creates the profile if it does not exist, and makes the role its only role.
   * @throws RoleNotFound
   */
  async create(name: string, role: string, path: string, tags: StringMap): Promise<void> {
    const named = roleName(role);
    const missing = this.#missingRoles.get(named);
    if (missing !== undefined) throw new RoleNotFound(`role not found, ${missing}`);

    const existing = await this.read(name);
    if (existing === undefined)
      await this.#iam.send(
        new CreateInstanceProfileCommand({ InstanceProfileName: name, Path: path, Tags: tagList(tags) }),
      );
    await this.#ensureRole(name, existing?.roles ?? [], named);
    this.#profiles.set(name, { name, roles: [named], tags: existing?.tags ?? tags });
  }

  async #ensureRole(name: string, attached: readonly string[], role: string): Promise<void> {
    if (attached.includes(role)) return;
    for (const other of attached)
      await this.#iam.send(new RemoveRoleFromInstanceProfileCommand({ InstanceProfileName: name, RoleName: other }));
    try {
      await this.#iam.send(new AddRoleToInstanceProfileCommand({ InstanceProfileName: name, RoleName: role }));
    } catch (error) {
      const message = messageOf(error);
      if (!codeOf(error).startsWith('NoSuchEntity') || !message.includes('role')) throw error;
      this.#missingRoles.set(role, message);
      throw new RoleNotFound(message, { cause: error });
    }
  }

  /** Deletes the profile unless it is gone already or belongs to another cluster. */
  async delete(name: string): Promise<void> {
    const profile = await this.read(name);
    if (profile !== undefined && !isOfAnotherCluster(profile.tags, this.#clusterUid)) {
      const [role] = profile.roles;
      if (role !== undefined && profile.roles.length === 1)
        await this.#iam.send(new RemoveRoleFromInstanceProfileCommand({ InstanceProfileName: name, RoleName: role }));
      try {
        await this.#iam.send(new DeleteInstanceProfileCommand({ InstanceProfileName: name }));
      } catch (error) {
        if (!isNotFound(error)) throw error;
      }
    }
    this.#profiles.delete(name);
    this.#protected.delete(name);
  }

  /** Lists the profiles under a path. */
  async list(path: string): Promise<readonly ListedProfile[]> {
    const found: ListedProfile[] = [];
    for await (const page of pagesOf(
      'ListInstanceProfiles',
      paginateListInstanceProfiles({ client: this.#iam }, { PathPrefix: path }),
    ))
      for (const { InstanceProfileName: name = '', Path = '' } of page.InstanceProfiles ?? [])
        found.push({ name, path: Path });
    return found;
  }
}
