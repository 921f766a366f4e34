import { describe, expect, it } from '@jest/globals';
import { allowedActions, policyStatements, templateResources } from './iam.ts';

describe('the CloudFormation template', () => {
  it('holds six policies of Allow statements with unique names', () => {
    const statements = policyStatements();
    expect(Object.values(templateResources()).filter(({ Type }) => Type === 'AWS::IAM::ManagedPolicy')).toHaveLength(6);
    expect(new Set(statements.map(({ Sid }) => Sid)).size).toBe(statements.length);
    expect(statements.every(({ Effect }) => Effect === 'Allow')).toBe(true);
  });

  it('allows no action on everything but reads', () => {
    const unscoped = policyStatements()
      .filter(({ Resource }) => Resource === '*')
      .flatMap(({ Action }) => Action);
    expect(unscoped.every((action) => /:(Describe|Get|List)/.test(action))).toBe(true);
    expect(allowedActions()).not.toContain('ec2:*');
  });

  it('feeds the queue from the five kinds of events', () => {
    const rules = Object.values(templateResources()).filter(({ Type }) => Type === 'AWS::Events::Rule');
    expect(
      rules.map(({ Properties }) => (Properties.EventPattern as { 'detail-type': string[] })['detail-type'][0]).sort(),
    ).toEqual([
      'AWS Health Event',
      'EC2 Capacity Reservation Instance Interruption Warning',
      'EC2 Instance Rebalance Recommendation',
      'EC2 Instance State-change Notification',
      'EC2 Spot Instance Interruption Warning',
    ]);
  });

  it('takes messages into the queue from its own rules alone, without a circle of references', () => {
    const resources = templateResources();
    const policy = resources.KarpenterInterruptionQueuePolicy?.Properties.PolicyDocument as {
      readonly Statement: readonly {
        readonly Effect: string;
        readonly Condition?: unknown;
        readonly Principal: unknown;
      }[];
    };
    const rules = Object.keys(resources).filter((name) => resources[name]?.Type === 'AWS::Events::Rule');
    expect(policy.Statement.filter(({ Effect }) => Effect === 'Allow')).toEqual([
      expect.objectContaining({
        Principal: { Service: 'events.amazonaws.com' },
        Condition: { ArnEquals: { 'aws:SourceArn': rules.map((rule) => `${rule}.Arn`) } },
      }),
    ]);
    const mentions = (name: string): readonly string[] => {
      const text = JSON.stringify(resources[name]?.Properties);
      return Object.keys(resources).filter((other) => new RegExp(`["{]${other}[".}]`).test(text));
    };
    const reaches = (name: string, seen: readonly string[] = []): boolean =>
      mentions(name).some((next) => seen.includes(next) || reaches(next, [...seen, next]));
    expect(mentions('KarpenterInterruptionQueuePolicy')).toEqual(['KarpenterInterruptionQueue', ...rules]);
    expect(Object.keys(resources).filter((name) => reaches(name, [name]))).toEqual([]);
  });
});
