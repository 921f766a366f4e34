/**
 * A thousand NodeClaims through the AWS provider, on the local AWS with EC2's published rate limits: `node
 * bench/burst.ts` prints one JSON line for the launches and one for the terminations. CPU time includes both
 * sides.
 */
import { CAPACITY_TYPE_LABEL } from '#api/objects';
import { Account, only } from '../test/unit/aws/support/account.ts';
import { launchAll, terminateAll } from '../test/unit/aws/support/burst.ts';

const CLAIMS = 1_000;

const account = await Account.open({ rateLimits: true });
const claims = Array.from({ length: CLAIMS }, () => account.claim(only(CAPACITY_TYPE_LABEL, 'spot', 'on-demand')));
const before = process.cpuUsage();
const [launched, launching] = await launchAll(account, claims);
const between = process.cpuUsage(before);
const ending = await terminateAll(account, launched);
const after = process.cpuUsage(before);
const cpuMs = (usage: NodeJS.CpuUsage): number => Math.round((usage.user + usage.system) / 1_000);
const print = (line: object): void => void process.stdout.write(`${JSON.stringify(line)}\n`);
print({ workload: 'burst-launch', claims: CLAIMS, cpuMs: cpuMs(between), ...launching });
print({ workload: 'burst-terminate', claims: CLAIMS, cpuMs: cpuMs(after) - cpuMs(between), ...ending });
await account.close();
process.exit(0);
