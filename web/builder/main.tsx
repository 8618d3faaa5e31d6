import '../kit/theme.css';
import { arrive } from '../kit/arrival.ts';
import { mount } from '../kit/mount.tsx';
import { Builder } from './builder.tsx';

arrive();
mount(<Builder />);
