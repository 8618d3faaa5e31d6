import '../kit/theme.css';
import { mount } from '../kit/mount.tsx';
import { SetupPage } from './setup-page.tsx';
import { arrive } from '../kit/arrival.ts';

// Before anything is shown: from then on the code is in no address and no history.
arrive();
mount(<SetupPage />);
