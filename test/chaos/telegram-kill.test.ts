import { testSmallest } from './smallest.ts';
import { telegramKill } from './telegram-kill.ts';

testSmallest(telegramKill);
