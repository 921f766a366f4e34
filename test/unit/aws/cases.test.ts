/** Compares the requests that the provider sends with recorded requests of the reference. */
import { describe, expect, it } from '@jest/globals';
import { NITRO_SANDBOX_LABEL } from '#api/objects';
import { resourcesOf } from '#engine/model';
import { CLUSTER_UID_TAG } from '../../../src/aws/tags.ts';
import { decoded, fleets, normal, type Replay, recordedText, replay, templates } from './support/cases.ts';
import type { Json } from './support/json.ts';
import { recordings } from './support/recordings.ts';

const { world, further, ...cases } = recordings();
/** Adds the types that recorded fleets request to the types of the world, with the recorded prices. */
const wide = Object.fromEntries(
  Object.entries<Json>(world).map(([name, value]) => [name, name in further ? { ...value, ...further[name] } : value]),
);

const inputs = (sent: Replay['launch'], action: string): Json[] =>
  sent.filter((each) => each.action === action).map((each) => each.input);

const DISCOVERY = new Set([
  'DescribeSubnets',
  'DescribeSecurityGroups',
  'DescribeImages',
  'DescribePlacementGroups',
  'DescribeCapacityReservations',
  'GetParameter',
]);
const CREATIONS = new Set(['CreateFleet', 'CreateInstanceProfile', 'CreateLaunchTemplate']);
const PROFILE = new Set(['CreateInstanceProfile', 'AddRoleToInstanceProfile']);

/** Karpenter does not read reservations that start later. */
const questions = (list: readonly Json[]): string[] =>
  [
    ...new Set(
      list
        .filter(({ action }) => DISCOVERY.has(action))
        .map(({ action, input: { MaxResults: _, NextToken: __, ...input } }) =>
          JSON.stringify([action, normal(input)]).replace('["active","delayed","scheduled"]', '["active"]'),
        ),
    ),
  ].sort();

describe.each(Object.entries<Json>(cases))('%s', (_, recorded) => {
  let run: Promise<Replay> | undefined;
  const replayed = (): Promise<Replay> => {
    run ??= replay(recorded.catalogue === 'full' ? wide : world, recorded);
    return run;
  };

  it('requests the objects that the selectors name', async () => {
    const { discovery } = await replayed();
    expect(questions(discovery)).toEqual(questions(recorded.describes));
    const made = discovery.filter(({ action }) => PROFILE.has(action));
    expect(normal(made)).toEqual(normal(recorded.instanceProfiles));
  });

  it('resolves the NodeClass', async () => {
    const { nodeClass } = await replayed();
    const status = ({ conditions, ...rest }: Json): unknown =>
      normal({ ...rest, conditions: conditions.map(({ type, status: is }: Json) => ({ type, status: is })) });
    expect(status(nodeClass.status)).toEqual(status(recorded.nodeClass.status));
  });

  it('launches with the same templates and fleets', async () => {
    const { launch } = await replayed();
    const ours = templates(inputs(launch, 'CreateLaunchTemplate'), decoded);
    const theirs = templates(recorded.launchTemplates, recordedText);
    expect(ours.contents).toEqual(theirs.contents);
    expect(fleets(inputs(launch, 'CreateFleet'), ours)).toEqual(fleets(recorded.fleets, theirs));
  });

  it('adds the identity of the cluster to the tags of the objects that it creates', async () => {
    const { discovery, launch } = await replayed();
    const created = [...discovery, ...launch].filter(({ action }) => CREATIONS.has(action));
    expect(created.length).toBeGreaterThan(0);
    for (const { input } of created) {
      const lists: Json[] = input.Tags === undefined ? input.TagSpecifications : [input];
      for (const { Tags } of lists) expect(Tags.map(({ Key }: Json) => Key)).toContain(CLUSTER_UID_TAG);
    }
  });

  it('describes the node in the same way', async () => {
    const { claims } = await replayed();
    // The reference does not set this label on nodes, although its scheduler launches nodes for pods that select it.
    const labelled = ({ [NITRO_SANDBOX_LABEL]: _, ...labels }: Json): Json => labels;
    const shown = (claim: Json): unknown => ({
      labels: labelled(claim.metadata.labels),
      imageID: claim.status.imageID,
      providerID: claim.status.providerID.replace(/i-INSTANCE.*/, 'i-INSTANCE'),
      capacity: resourcesOf(claim.status.capacity),
      allocatable: resourcesOf(claim.status.allocatable),
    });
    expect(claims.map(shown)).toEqual(recorded.nodeClaims.map(shown));
  });
});
