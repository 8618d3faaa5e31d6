import { discordKill } from './discord-kill.ts';
import { testSmallest } from './smallest.ts';

testSmallest(discordKill);
