/** The AWS provider: discovers where it runs, then serves the cloud contract and its own controllers. */
import { DescribeInstanceTypesCommand } from '@aws-sdk/client-ec2';
import type { Fence } from '../kube/fence.ts';
import { assemble } from './assembly.ts';
import { type Clients, createClients } from './clients.ts';
import { describeError, isDryRun } from './errors.ts';
import { instrument } from './instrument.ts';
import type { AwsOptions, AwsProvider } from './options.ts';

export { assemble } from './assembly.ts';
export type { Clients } from './clients.ts';
export type { AwsOptions, AwsProvider, AwsSettings } from './options.ts';

/** @throws Error when EC2 cannot be reached or refuses us */
async function probe({ ec2 }: Clients): Promise<void> {
  try {
    await ec2.send(new DescribeInstanceTypesCommand({ DryRun: true }));
  } catch (error) {
    if (isDryRun(error)) return;
    throw new Error(`ec2 api connectivity check failed, ${describeError(error)}`, { cause: error });
  }
}

/**
 * Starts the provider. Region and credentials come from the SDK's default chain.
 * @param fence permits calls that change anything
 * @throws Error when EC2 cannot be reached, or the cluster's endpoint or version cannot be found out
 */
export async function awsProvider(options: AwsOptions, fence: Fence): Promise<AwsProvider> {
  const clients = await createClients({ clock: options.clock, fence });
  const { ec2, ec2Once, sqs, ssm, iam, eks, pricing } = clients;
  instrument([ec2, ec2Once, sqs, ssm, iam, eks, pricing], options.metrics);
  options.log.debug('discovered region', { region: clients.region });
  const assembled = assemble(options, clients);
  // Where EC2 is out of reach the probe says so most clearly.
  assembled.catch(() => undefined);
  await probe(clients);
  return assembled;
}
