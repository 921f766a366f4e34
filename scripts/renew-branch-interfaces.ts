/**
 * Updates the operator's table of branch network interfaces from one release of AWS's controller:
 *
 *   npm run renew:branch-interfaces -- v1.8.2 https://raw.githubusercontent.com/aws/amazon-vpc-resource-controller-k8s/v1.8.2/pkg/aws/vpc/limits.go
 *
 * The second argument is a URL or a file. The first argument is the version in the header of the table.
 */
import { writeFileSync } from 'node:fs';
import { branchLimits, branchTable } from './branch-interfaces.ts';
import { textAt } from './sources.ts';

const TABLE = new URL('../src/aws/instancetypes/branchinterfacetable.ts', import.meta.url);
/** Minimum number of families in a complete table. */
const FEWEST = 100;

const [version, source] = process.argv.slice(2);
if (version === undefined || source === undefined)
  throw new Error('Name the release, and the address of its pkg/aws/vpc/limits.go or a file');
const limits = branchLimits(await textAt(source));
if (limits.size < FEWEST)
  throw new Error(`Cannot renew the table: ${source} has ${limits.size} families with branch interfaces`);
writeFileSync(TABLE, branchTable(limits, version));
console.log(`Wrote ${limits.size} families`);
