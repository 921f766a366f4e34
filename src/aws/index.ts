/** The AWS provider: discovers the cluster, then provides the cloud interface and its controllers. */
import { DescribeInstanceTypesCommand } from '@aws-sdk/client-ec2';
import type { ConfigureProvider } from '#cloud';
import type { Fence } from '#kube/client';
import { StartError } from '#process/life';
import { assemble } from './assembly.ts';
import { type Clients, createClients } from './clients.ts';
import { isDryRun } from './errors.ts';
import { instrument } from './instrument.ts';
import type { AwsOptions, AwsProvider } from './options.ts';
import { parseAwsSettings } from './settings.ts';
import { AwsStart } from './start/aws-start.ts';
import { failedStart, REGION_REMEDY } from './start/start-remedies.ts';

export type { AwsOptions, AwsProvider } from './options.ts';

export const configureAws: ConfigureProvider = (argv, env) => {
  const settings = parseAwsSettings(argv, env);
  return {
    settings,
    start(signal) {
      const start = new AwsStart(signal);
      return {
        name: 'aws',
        get isOver() {
          return start.isOver;
        },
        waitingFor: () => start.waitingFor(),
        open: (ports) => awsProvider({ ...ports, settings, start }, ports.fence),
      };
    },
  };
};

/** @throws Error if EC2 is unreachable or rejects the call */
async function probe({ ec2 }: Clients): Promise<void> {
  try {
    await ec2.send(new DescribeInstanceTypesCommand({ DryRun: true }));
  } catch (error) {
    if (!isDryRun(error)) throw error;
  }
}

/**
 * Starts the provider with the region and credentials of the SDK's default chain.
 * @param fence permits mutating calls
 * @throws StartError if EC2 is unreachable, or if the endpoint or version of the cluster cannot be discovered
 */
export async function awsProvider(options: AwsOptions, fence: Fence): Promise<AwsProvider> {
  const { start, clock, log, metrics, settings } = options;
  const clients = await createClients({ clock, start, fence }).catch((cause: unknown) => {
    throw new StartError('failed discovering the AWS region', { cause, remedy: REGION_REMEDY });
  });
  const { ec2, ec2Once, sqs, ssm, iam, eks, pricing, region } = clients;
  const all = [ec2, ec2Once, sqs, ssm, iam, eks, pricing];
  instrument(all, metrics);
  start?.watch(region, all);
  log.debug('discovered region', { region });
  const facts = { region, clusterName: settings.clusterName };
  const assembled = assemble(options, clients).catch(
    failedStart('failed discovering the cluster and its instance types', facts),
  );
  // If EC2 is unreachable, the error of the probe is the clearest.
  assembled.catch(() => undefined);
  await probe(clients).catch(failedStart('ec2 api connectivity check failed', facts));
  const provider = await assembled;
  start?.end();
  return provider;
}
