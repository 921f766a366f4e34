import { measuredTurn } from './measured.ts';
import { OBJECT_PATHS } from './objects.ts';

for (const path of OBJECT_PATHS) console.log(JSON.stringify(await measuredTurn(path)));
